"""What happens at each deadline, and when."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial

import pytest

from pickupbox.domain.lifecycle import Trigger
from pickupbox.settings import Settings
from pickupbox.usecases.clock import seconds_to_next_deadline, sweep
from pickupbox.usecases.core import Core
from pickupbox.worker.process import work
from tests.support.databases import elapse
from tests.support.shop import Shop
from tests.support.waiting import until
from tests.worker.conftest import Take

DOOR_LIMIT, COOLDOWN, PROTECTION = 180, 5, 5
OPEN, CLOSE, LOAD, PICK_UP = Trigger.DOOR_OPENED, Trigger.DOOR_CLOSED, Trigger.LOAD, Trigger.PICK_UP
READY = (LOAD, Trigger.PROTECTION_ENDED)

# The design's stage table: the way to a stage, seconds until it is due, and what is then seen and told.
TABLE: dict[str, tuple[tuple[Trigger, ...], float, tuple[str, str, bool], list[str]]] = {
    "reserved": ((), 1440 * 60, ("expired", "available", False), ["expired", "door_available"]),
    "loading": ((OPEN,), DOOR_LIMIT, ("fault", "awaiting_removal", False), ["fault"]),
    "protected": ((LOAD,), PROTECTION, ("loaded", "occupied", True), ["loaded"]),
    "correcting": ((LOAD, OPEN), DOOR_LIMIT, ("fault", "awaiting_removal", False), ["fault"]),
    "ready": (READY, 2880 * 60, ("expired", "awaiting_removal", False), ["expired"]),
    "collecting": ((*READY, OPEN), DOOR_LIMIT, ("fault", "awaiting_removal", False), ["fault"]),
    "cooling": ((*READY, PICK_UP), COOLDOWN, ("picked_up", "available", False), ["door_available"]),
}


@asynccontextmanager
async def working(core: Core, settings: Settings) -> AsyncIterator[None]:
    """A worker runs in this process meanwhile."""
    stop = asyncio.Event()
    running = asyncio.create_task(work(core, settings, stop))
    try:
        yield
    finally:
        stop.set()
        await asyncio.wait_for(running, timeout=5)


@pytest.mark.parametrize("stage", TABLE)
async def test_each_deadline_does_what_the_design_says_and_not_before(
    shop: Shop, core: Core, take: Take, stage: str
) -> None:
    way, seconds, seen, told = TABLE[stage]
    shipment = await shop.reserved("A")
    await take(shipment, *way)
    before = await shop.events(shipment)
    await elapse(core, shipment, seconds - 2)
    await sweep(core, 1000)
    assert await stage_of(core, shipment) == stage
    assert await shop.events(shipment) == before
    await elapse(core, shipment, 2)
    await sweep(core, 1000)
    now = (await shop.read(shipment)).json()
    assert (now["status"], now["compartment_state"], now["pickup_enabled"]) == seen
    assert (await shop.events(shipment))[len(before) :] == told


async def stage_of(core: Core, shipment_id: str) -> str:
    async with core.db.connection() as connection:
        stage: str = await connection.fetchval("SELECT stage FROM shipments WHERE id = $1", shipment_id)
    return stage


async def announced(shop: Shop, shipment_id: str) -> bool:
    return await shop.events(shipment_id) == ["reserved", "loaded"]


async def test_held_and_finished_shipments_are_never_due(shop: Shop, core: Core) -> None:
    ways = [("fault",), ("loaded", "expired"), ("fault", "removed"), ("expired",)]
    shipments = [await shop.reserved(str(number), *way) for number, way in enumerate(ways)]
    before = [(await shop.read(shipment)).json()["status"] for shipment in shipments]
    for shipment in shipments:
        await elapse(core, shipment, 365 * 86400)
    await sweep(core, 1000)
    assert [(await shop.read(shipment)).json()["status"] for shipment in shipments] == before
    assert await shop.events(shipments[0]) == ["reserved", "fault"]


async def test_a_simulated_cooldown_waits_for_its_simulated_end(shop: Shop, core: Core) -> None:
    shipment = await shop.reserved("A", "loaded", "picked_up")
    await elapse(core, shipment, 86400)
    await sweep(core, 1000)
    assert (await shop.read(shipment)).json()["compartment_state"] == "cooldown"


async def test_a_door_closed_after_protection_would_have_ended_is_announced_at_once(
    shop: Shop, core: Core, take: Take
) -> None:
    shipment = await shop.reserved("A")
    await take(shipment, LOAD, OPEN)
    await elapse(core, shipment, PROTECTION + 10)
    await sweep(core, 1000)
    assert await shop.events(shipment) == ["reserved"]
    await take(shipment, CLOSE)
    await sweep(core, 1000)
    assert await shop.events(shipment) == ["reserved", "loaded"]


async def test_a_customer_at_the_open_door_still_collects_after_the_pickup_deadline(
    shop: Shop, core: Core, take: Take
) -> None:
    shipment = await shop.reserved("A")
    await take(shipment, *READY)
    await elapse(core, shipment, 2880 * 60 - 30)
    await take(shipment, OPEN)
    await elapse(core, shipment, 60)
    await sweep(core, 1000)
    assert await stage_of(core, shipment) == "collecting"
    await take(shipment, CLOSE)
    assert (await shop.read(shipment)).json()["status"] == "picked_up"


async def test_a_sweep_takes_the_longest_due_first_and_no_more_than_its_limit(
    shop: Shop, core: Core, nothing_else_due: None
) -> None:
    shipments = [await shop.reserved(order) for order in "ABC"]
    for shipment, late in zip(shipments, (10, 30, 20), strict=True):
        await elapse(core, shipment, 1440 * 60 + late)
    order = []
    while await sweep(core, 1):
        expired = [s for s in shipments if await stage_of(core, s) == "expired"]
        order += [shipment for shipment in expired if shipment not in order]
    assert order == [shipments[1], shipments[2], shipments[0]]


async def test_the_next_deadline_is_known_to_the_second(shop: Shop, core: Core, nothing_else_due: None) -> None:
    shipment = await shop.reserved("A", reservation_ttl_minutes=15)
    seconds = await seconds_to_next_deadline(core)
    assert seconds is not None
    assert seconds <= 900
    await elapse(core, shipment, 900 + 60)
    assert -62 < (await seconds_to_next_deadline(core) or 0) < -59
    await sweep(core, 1000)
    assert (await seconds_to_next_deadline(core) or 1) > 0


async def test_a_deadline_fires_within_a_second_while_a_worker_runs(shop: Shop, core: Core, settings: Settings) -> None:
    box = await shop.add_box(12, protection_seconds=1)
    async with working(core, settings):
        shipments = []
        for order in "ABCDEF":
            shipments.append(await shop.reserved(order, "loaded", box_id=box))
            await asyncio.sleep(0.15)
        for shipment in shipments:
            await until(partial(announced, shop, shipment), seconds=5)
        seen = [(await shop.read(shipment)).json() for shipment in shipments]
    for shipment in seen:
        due, done = (datetime.fromisoformat(shipment[name]) for name in ("pickup_available_at", "updated_at"))
        assert 0 <= (done - due).total_seconds() < 1


async def test_a_deadline_that_comes_sooner_than_the_one_a_worker_sleeps_for_fires_in_time(
    shop: Shop, core: Core, settings: Settings
) -> None:
    box = await shop.add_box(12, protection_seconds=0)
    async with working(core, settings):
        await asyncio.sleep(0.2)  # the worker is asleep now, with nothing due for a day
        shipment = await shop.reserved("A", "loaded", box_id=box)
        await until(partial(announced, shop, shipment), seconds=1)


async def test_a_worker_seals_what_was_revealed_and_erases_names(shop: Shop, core: Core, settings: Settings) -> None:
    shipment = await shop.reserved("A", customer_name="Ada")
    await shop.pin(shipment)
    await shop.simulate(shipment, "expired")
    await elapse(core, shipment, 31 * 86400)

    async def erased() -> bool:
        return (await shop.read(shipment)).json()["customer_name"] is None

    async def sealed() -> bool:
        async with core.db.connection() as connection:
            row = await connection.fetchrow("SELECT chain_number FROM audit WHERE tenant_id = $1", shop.tenant)
        return row is not None and row["chain_number"] == 1

    async with working(core, settings):
        await until(erased, seconds=5)
        await until(sealed, seconds=5)
