"""The tenant administration: pages for those who own boxes, look after them and stand before them."""
