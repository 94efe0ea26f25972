"""Load and comparison with the bare engine: how much of PostgreSQL's own speed reaches the caller."""
