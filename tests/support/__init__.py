"""What tests share: a database of their own, a shop that calls the API, a hand on the clock."""
