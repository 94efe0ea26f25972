"""Pickupbox: the service behind pickup boxes."""
