"""What can happen to a shipment. Pure: no I/O, no clock, no chance; only the standard library."""
