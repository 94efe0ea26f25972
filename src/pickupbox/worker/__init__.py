"""The worker: background loops, one per file, any number of workers side by side."""
