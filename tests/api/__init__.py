"""The public API, operation by operation."""
