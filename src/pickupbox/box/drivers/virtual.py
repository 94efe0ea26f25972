"""Doors in memory, with switches for what goes wrong on the street."""

from collections.abc import Iterable

from pickupbox.box.drivers import DriverError


class VirtualDriver:
    """A released door springs open, as the real ones do; someone closes it again."""

    def __init__(self, compartments: Iterable[str]) -> None:
        self._open = dict.fromkeys(compartments, False)
        self._stuck: dict[str, bool] = {}
        self.jammed: set[str] = set()  # locks that take the release and do not move
        self.holding: set[str] = set()  # compartments with a parcel inside
        self.powered = True
        self.released: list[str] = []  # every release that a lock was given

    async def unlock(self, compartment: str) -> None:
        if not self.powered:
            raise DriverError("no power")
        self.released.append(compartment)
        del self.released[:-1_000]
        if compartment not in self.jammed:
            self._open[compartment] = True

    async def read(self) -> dict[str, bool]:
        if not self.powered:
            raise DriverError("no power")
        return self._open | self._stuck

    def close_door(self, compartment: str) -> None:
        self._open[compartment] = False

    def simulate(self, compartment: str, *, filled: bool) -> None:
        """As if someone had been there: the parcel is put in or taken out, and the door is closed."""
        (self.holding.add if filled else self.holding.discard)(compartment)
        self.close_door(compartment)

    def force_door(self, compartment: str) -> None:
        """Someone opens it with a crowbar."""
        self._open[compartment] = True

    def is_open(self, compartment: str) -> bool:
        """How the door really stands, whatever the sensor says."""
        return self._open[compartment]

    def stick_sensor(self, compartment: str) -> None:
        """From now on the sensor says what it says now."""
        self._stuck[compartment] = self._open[compartment]

    def is_stuck(self, compartment: str) -> bool:
        return compartment in self._stuck

    def free_sensor(self, compartment: str) -> None:
        self._stuck.pop(compartment, None)
