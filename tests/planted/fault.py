"""A fault to plant."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    file: str  # below src/pickupbox
    old: str
    new: str
    caught_by: str  # what pytest is given
