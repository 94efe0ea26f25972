"""The doors of one box, what lies behind them, and who moved them: the physical truth. It outlives the program."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from pickupbox.box.clock import ticks
from pickupbox.box.doors import DEBOUNCE_SECONDS
from pickupbox.box.drivers.virtual import VirtualDriver

LOCK_SECONDS = 0.02  # from the moment that the door springs open until the board says so


@dataclass
class Cycle:
    """A door was opened and closed by someone who came for this shipment."""

    compartment: str
    shipment: str
    in_the_dark: bool  # closed while the box had no power: the sensor may have seen none of it


class Doors(VirtualDriver):
    def __init__(self, compartments: Iterable[str]) -> None:
        super().__init__(compartments)
        codes = tuple(compartments)
        self.parcels: dict[str, str | None] = dict.fromkeys(codes)
        self.cycles: list[Cycle] = []
        self.opened = {code: asyncio.Event() for code in codes}
        self._seen_open: dict[str, tuple[float, float]] = {}  # by the sensor: first and last time

    async def unlock(self, compartment: str) -> None:
        await super().unlock(compartment)
        self.opened[compartment].set()
        await asyncio.sleep(LOCK_SECONDS)

    async def read(self) -> dict[str, bool]:
        readings = await super().read()
        now = ticks()
        for code in (code for code, is_open in readings.items() if is_open):
            first, _ = self._seen_open.get(code, (now, now))
            self._seen_open[code] = first, now
        return readings

    def was_read_open(self, compartment: str) -> bool:
        """Whether the sensor said so for longer than the box's debounce, in one life of the program.

        Nobody is quicker than that with a parcel; here all share one processor, so a time alone would not say it.
        """
        first, last = self._seen_open.get(compartment, (0.0, 0.0))
        return last - first > DEBOUNCE_SECONDS + 0.1

    def close_by(self, compartment: str, shipment: str) -> None:
        self.close_door(compartment)
        self.opened[compartment].clear()
        self._seen_open.pop(compartment, None)
        self.cycles.append(Cycle(compartment, shipment, in_the_dark=not self.powered))

    def cut(self) -> None:
        self.powered = False
        self._seen_open.clear()
