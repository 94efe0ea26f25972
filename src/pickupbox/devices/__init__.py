"""Boxes over MQTT: the wire that both sides speak."""
