"""What can be done, one file per act: lock, load, let the domain decide, save."""
