"""What everyone on the street shares: the service, the boxes, what the shops know, and a watch on every compartment."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.domain.lifecycle import Stage
from pickupbox.usecases.core import Core
from tests.faults.station import Station
from tests.faults.way import Way

LOOK_SECONDS = 0.5


async def insist[T](act: Callable[[], Awaitable[T]]) -> T:
    """Once more while the database is out of reach: all share one processor here, and an answer may be read late."""
    while True:
        try:
            return await act()
        except TemporarilyUnavailable:
            await asyncio.sleep(1)


@dataclass
class Street:
    core: Core
    tenant: str
    way: Way
    stations: Sequence[Station]
    chance: random.Random
    patience: float  # seconds in which a shipment must have come and gone
    stages: dict[str, Stage] = field(default_factory=dict)
    tally: Counter[str] = field(default_factory=Counter)
    endangered: list[str] = field(default_factory=list)
    _looked: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def cycles(self) -> int:
        return self.tally["door cycles"]

    async def watch(self) -> None:
        """Look at all shipments and compartments again and again, as the shops and a suspicious person would."""
        while True:
            await insist(self._look)
            async with self._looked:
                self._looked.notify_all()
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> None:
        before = self._parcels()
        async with self.core.db.connection() as connection:
            shipments = await connection.fetch(
                """
                SELECT id, stage FROM shipments
                WHERE tenant_id = $1 AND (released_at IS NULL OR released_at > now() - interval '1 minute')
                """,
                self.tenant,
            )
            offered = await connection.fetch(
                "SELECT box_id, code FROM compartments WHERE tenant_id = $1 AND shipment_id IS NULL AND in_service",
                self.tenant,
            )
        # Only what lay there before and after the question surely lay there when it was answered.
        lying = before & self._parcels()
        available = {(row["box_id"], row["code"]) for row in offered}
        self.endangered += [f"{box}/{code}: {parcel}" for box, code, parcel in lying if (box, code) in available]
        self.stages |= {row["id"]: Stage(row["stage"]) for row in shipments}

    def _parcels(self) -> set[tuple[str, str, str]]:
        return {
            (station.box_id, code, parcel)
            for station in self.stations
            for code, parcel in station.doors.parcels.items()
            if parcel is not None
        }

    async def reaches(self, shipment: str, *wanted: Stage) -> Stage:
        """Wait until the shop sees the shipment at one of these stages."""
        async with self._looked:
            await self._looked.wait_for(lambda: self.stages.get(shipment) in wanted)
        return self.stages[shipment]
