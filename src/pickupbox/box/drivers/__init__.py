"""Drivers: how the program reaches locks and sensors. One small interface, nothing else."""

from typing import Protocol


class DriverError(Exception):
    """The hardware did not do what it was asked, or did not answer."""


class Driver(Protocol):
    """Both calls end within some seconds, whatever the hardware does, and are never made at the same time."""

    async def unlock(self, compartment: str) -> None:
        """Release the lock once; raises DriverError if the board surely did not take it."""

    async def read(self) -> dict[str, bool]:
        """For each compartment that answered: whether its door is open."""
