"""The docs site: what is generated from the code, and how the pages under docs/ become a site."""
