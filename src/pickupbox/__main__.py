"""`python -m pickupbox` is the command line."""

from pickupbox.cli import app

app()
