"""What the clock does to a shipment, as the API shows it: protection, expiry, cooldown."""

import asyncio
from datetime import datetime, timedelta
from functools import partial

from pickupbox.domain.lifecycle import Trigger
from pickupbox.usecases.steps import lock, prepare, record
from pickupbox.worker import deadlines
from pickupbox.worker.loops import repeat
from tests.api.stages import face
from tests.api.stored import wait
from tests.support.shop import Shop


async def happens(shop: Shop, shipment_id: str, *triggers: Trigger) -> None:
    """What a box reports; the API has no operation for it."""
    for trigger in triggers:
        async with shop.core.db.transaction() as tx:
            await record(tx, prepare(shop.core, await lock(tx, shop.tenant, shipment_id), trigger))


async def test_pickup_is_enabled_and_loaded_is_told_only_when_protection_has_ended(shop: Shop) -> None:
    box = await shop.add_box(protection_seconds=120)
    shipment_id = await shop.reserved("order-1", "loaded", box_id=box)
    await wait(shop.core, shipment_id, 118)
    assert face((await shop.read(shipment_id)).json()) == ("loaded", "occupied", False)
    assert await shop.events(shipment_id) == ["reserved"]
    await wait(shop.core, shipment_id, 2)
    shown = (await shop.read(shipment_id)).json()
    assert face(shown) == ("loaded", "occupied", True)
    assert await shop.events(shipment_id) == ["reserved", "loaded"]
    available = datetime.fromisoformat(shown["pickup_available_at"])
    assert available - datetime.fromisoformat(shown["loaded_at"]) == timedelta(seconds=120)


async def test_loaded_is_not_told_while_the_door_is_open(shop: Shop) -> None:
    shipment_id = await shop.reserved("order-1", "loaded")
    await happens(shop, shipment_id, Trigger.DOOR_OPENED)
    await wait(shop.core, shipment_id, 60)
    assert face((await shop.read(shipment_id)).json()) == ("loaded", "occupied", False)
    assert await shop.events(shipment_id) == ["reserved"]
    await happens(shop, shipment_id, Trigger.DOOR_CLOSED)
    await wait(shop.core, shipment_id, 0)
    assert face((await shop.read(shipment_id)).json()) == ("loaded", "occupied", True)
    assert await shop.events(shipment_id) == ["reserved", "loaded"]


async def test_reopening_during_protection_keeps_the_pin_and_the_first_loading_time(shop: Shop) -> None:
    made = (await shop.reserve()).json()
    loaded = (await shop.simulate(made["id"], "loaded")).json()
    await happens(shop, made["id"], Trigger.DOOR_OPENED, Trigger.DOOR_CLOSED)
    assert (await shop.pin(made["id"])).json()["pickup_pin"] == made["pickup_pin"]
    shown = (await shop.read(made["id"])).json()
    assert (shown["loaded_at"], shown["pickup_available_at"]) == (loaded["loaded_at"], loaded["pickup_available_at"])


async def test_a_door_left_open_past_its_limit_is_a_fault(shop: Shop) -> None:
    shipment_id = await shop.reserved()
    await happens(shop, shipment_id, Trigger.DOOR_OPENED)
    await wait(shop.core, shipment_id, 178)
    assert face((await shop.read(shipment_id)).json()) == ("reserved", "reserved", False)
    await wait(shop.core, shipment_id, 2)
    assert face((await shop.read(shipment_id)).json()) == ("fault", "awaiting_removal", False)


async def test_a_reservation_expires_at_its_time_and_frees_its_compartment(shop: Shop) -> None:
    box = await shop.add_box(compartments=1)
    shipment_id = await shop.reserved(box_id=box, reservation_ttl_minutes=15)
    await wait(shop.core, shipment_id, 15 * 60 - 2)
    assert face((await shop.read(shipment_id)).json()) == ("reserved", "reserved", False)
    await wait(shop.core, shipment_id, 2)
    assert face((await shop.read(shipment_id)).json()) == ("expired", "available", False)
    assert await shop.events(shipment_id) == ["reserved", "expired", "door_available"]
    assert (await shop.reserve("next", box)).status_code == 201


async def test_a_loaded_shipment_expires_at_its_time_and_awaits_removal(shop: Shop) -> None:
    shipment_id = await shop.reserved("order-1", "loaded", pickup_ttl_minutes=60)
    await wait(shop.core, shipment_id, 60 * 60 - 2)
    assert face((await shop.read(shipment_id)).json()) == ("loaded", "occupied", True)
    await wait(shop.core, shipment_id, 2)
    assert face((await shop.read(shipment_id)).json()) == ("expired", "awaiting_removal", False)
    assert await shop.events(shipment_id) == ["reserved", "loaded", "expired"]


async def test_a_pickup_at_a_box_cools_down_by_the_clock(shop: Shop) -> None:
    box = await shop.add_box(cooldown_seconds=300)
    shipment_id = await shop.reserved("order-1", "loaded", box_id=box)
    await wait(shop.core, shipment_id, 6)
    await happens(shop, shipment_id, Trigger.DOOR_OPENED, Trigger.DOOR_CLOSED)
    await wait(shop.core, shipment_id, 298)
    assert face((await shop.read(shipment_id)).json()) == ("picked_up", "cooldown", False)
    await wait(shop.core, shipment_id, 2)
    assert face((await shop.read(shipment_id)).json()) == ("picked_up", "available", False)
    assert await shop.events(shipment_id) == ["reserved", "loaded", "picked_up", "door_available"]


async def test_a_pending_loaded_is_never_told_after_cancel_expiry_or_fault(shop: Shop) -> None:
    for order, end in (("A", "cancel"), ("B", "expired"), ("C", "fault")):
        shipment_id = await shop.reserved(order, "loaded")
        await (shop.cancel(shipment_id) if end == "cancel" else shop.simulate(shipment_id, end))
        await wait(shop.core, shipment_id, 3600)
        assert "loaded" not in await shop.events(shipment_id)


async def test_what_is_final_stays_so_however_long_it_is(shop: Shop) -> None:
    for order, events in (("A", ["fault"]), ("B", ["loaded", "expired"]), ("C", ["expired"])):
        shipment_id = await shop.reserved(order, *events)
        before = face((await shop.read(shipment_id)).json())
        await wait(shop.core, shipment_id, 90 * 86_400)
        assert face((await shop.read(shipment_id)).json()) == before


async def test_cancelling_or_expiring_behind_an_open_door_awaits_removal(shop: Shop) -> None:
    for order, end in (("A", "cancel"), ("B", "expired")):
        shipment_id = await shop.reserved(order)
        await happens(shop, shipment_id, Trigger.DOOR_OPENED)
        answer = await (shop.cancel(shipment_id) if end == "cancel" else shop.simulate(shipment_id, end))
        assert answer.json()["compartment_state"] == "awaiting_removal"


async def test_the_worker_acts_within_a_second_by_the_clock_of_postgresql(shop: Shop) -> None:
    box = await shop.add_box(protection_seconds=1)
    stop = asyncio.Event()
    worker = asyncio.create_task(repeat("deadlines", partial(deadlines.run, shop.core), stop))
    shown = (await shop.simulate(await shop.reserved(box_id=box), "loaded")).json()
    async with asyncio.timeout(5):
        while not shown["pickup_enabled"]:
            await asyncio.sleep(0.05)
            shown = (await shop.read(shown["id"])).json()
    stop.set()
    await worker
    due, acted = (datetime.fromisoformat(shown[name]) for name in ("pickup_available_at", "updated_at"))
    assert timedelta(0) <= acted - due < timedelta(seconds=1)
