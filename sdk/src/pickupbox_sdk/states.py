"""The words of the contract. One that this version does not know is kept as it came: the service may learn."""

from enum import StrEnum
from typing import Self


class _Word(StrEnum):
    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        if not isinstance(value, str):
            return None
        word = str.__new__(cls, value)
        word._name_ = word._value_ = value
        return word


class Status(_Word):
    """The status of a shipment."""

    RESERVED = "reserved"
    LOADED = "loaded"
    PICKED_UP = "picked_up"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    FAULT = "fault"


class CompartmentState(_Word):
    """The physical state of a shipment's compartment; only `available` means that it is free again."""

    RESERVED = "reserved"
    OCCUPIED = "occupied"
    AWAITING_REMOVAL = "awaiting_removal"
    COOLDOWN = "cooldown"
    AVAILABLE = "available"


class EventType(_Word):
    """What an event tells."""

    RESERVED = "reserved"
    LOADED = "loaded"
    PICKED_UP = "picked_up"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    FAULT = "fault"
    REMOVED = "removed"
    DOOR_AVAILABLE = "door_available"
