"""Faults planted on purpose, to see that the suite catches each: `just planted`."""
