"""Shops that are told: tenants with a big box, endpoints, and a receiver behind each of them."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from pickupbox.domain.lifecycle import Event
from pickupbox.usecases.boxes import add_box, default_setup
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.endpoints import add_endpoint
from pickupbox.usecases.tenants import add_tenant
from tests.crashes.receivers import Receiver
from tests.support.processes import Process


@dataclass
class Told:
    """An endpoint: whose it is, what it wants to hear, and its receiver."""

    tenant: str
    endpoint_id: str
    types: tuple[Event, ...] | None
    receiver: Receiver


@dataclass
class Street:
    core: Core
    start_worker: Callable[[str], Process]
    seed: int
    boxes: dict[str, str] = field(default_factory=dict)  # by tenant
    told: list[Told] = field(default_factory=list)

    async def add_tenant(self, *filters: tuple[Event, ...] | None) -> list[Told]:
        """A tenant with one big box and an endpoint for each filter."""
        tenant = await add_tenant(self.core, "Told shop")
        setup = replace(default_setup(self.core, "Big box"), protection_seconds=1)
        box_id = await add_box(self.core, tenant, setup, 1000)
        assert box_id is not None
        self.boxes[tenant] = box_id
        added = []
        for types in filters:
            receiver = Receiver(random.Random(self.seed + len(self.told)))  # noqa: S311 - a repeatable test, not a secret
            issued = await add_endpoint(self.core, Caller(tenant, "test"), receiver.url, "", types)
            await receiver.listen(issued.secret)
            added.append(Told(tenant, issued.id, types, receiver))
            self.told.append(added[-1])
        return added

    async def fetch(self, question: str, *values: object) -> list[tuple[object, ...]]:
        async with self.core.db.connection() as connection:
            return [tuple(row.values()) for row in await connection.fetch(question, *values)]

    async def count(self, table: str, condition: str = "true") -> int:
        """Rows of this test's tenants."""
        question = f"SELECT count(*) FROM {table} WHERE tenant_id = ANY ($1) AND {condition}"
        ((number,),) = await self.fetch(question, list(self.boxes))
        return number

    async def wait_until_all_is_told(self, seconds: float) -> None:
        """Until no protection is left to end and no lane waits."""
        await within(seconds, self._is_all_told, "events are still to be told")

    async def _is_all_told(self) -> bool:
        return not await self.count("shipments", "stage = 'protected'") and not await self.count("webhook_lanes")


async def within(seconds: float, reached: Callable[[], Awaitable[bool]], otherwise: str) -> None:
    end = time.monotonic() + seconds
    while not await reached():
        assert time.monotonic() < end, f"{otherwise} after {seconds:.0f} s"
        await asyncio.sleep(0.1)
