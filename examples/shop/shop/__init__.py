"""A small web shop whose parcels are collected at pickup boxes."""
