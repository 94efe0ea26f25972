"""Every line of SQL: one module per table family, and the way to reach PostgreSQL."""
