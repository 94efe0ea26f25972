"""Journeys: ways of a shipment through the sandbox, by the use cases, with a pause between the steps."""

import asyncio
import random

from pickupbox.usecases.cancel import cancel
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.reserve import Wish, reserve
from pickupbox.usecases.simulate import SandboxEvent, simulate

# The steps after the reservation, and how many events the shop hears at least.
JOURNEYS = [
    (("loaded", "picked_up", "door_available"), 4),
    (("loaded", "picked_up", "door_available"), 4),
    (("fault", "removed"), 4),
    (("loaded", "fault", "removed"), 4),
    (("loaded", "cancel", "removed"), 4),
    (("loaded", "expired", "removed"), 4),
    (("cancel",), 3),
    (("expired",), 3),
    (("loaded",), 2),  # the second when the worker's clock ends protection
]


def journeys(events: int, chance: random.Random) -> list[tuple[str, ...]]:
    """As many as it takes to tell that many events."""
    chosen = []
    while events > 0:
        steps, told = chance.choice(JOURNEYS)
        chosen.append(steps)
        events -= told
    return chosen


async def reserve_one(core: Core, tenant: str, box_id: str, order: str) -> str:
    return (await reserve(core, Caller(tenant, "test"), Wish(box_id, order))).shipment.id


async def take(core: Core, tenant: str, shipment_id: str, step: str) -> None:
    if step == "cancel":
        await cancel(core, tenant, shipment_id)
    else:
        await simulate(core, tenant, shipment_id, SandboxEvent(step))


async def travel(
    core: Core, tenant: str, box_id: str, order: str, steps: tuple[str, ...], pauses: random.Random, pause: float
) -> None:
    shipment_id = await reserve_one(core, tenant, box_id, order)
    for step in steps:
        await asyncio.sleep(pauses.uniform(0, 2 * pause))
        await take(core, tenant, shipment_id, step)
