"""The street while the cable to the box is cut: what the box does by itself, and how the ledgers agree again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pickupbox.devices.messages import Message, Open, PinAnswer
from pickupbox.usecases.core import Core
from tests.street.corner import Corner, breaches, ledgers_agree, reserve
from tests.support.waiting import until

CUT_SECONDS = 60.0


async def load(corner: Corner, order: str) -> tuple[str, str, str]:
    """A shipment that waits for its customer."""
    shipment, pin, code = await reserve(corner, order)
    await corner.cycle(pin, code)
    await corner.shows(shipment, "loaded", "occupied", True)
    return shipment, pin, code


@pytest.mark.slow
async def test_a_minute_without_network_before_the_pickup_before_the_loading_and_between_pin_and_door(
    corners: list[Corner],
) -> None:
    async with asyncio.TaskGroup() as street:
        for play, corner in zip((cut_before_the_pickup, cut_before_the_loading, cut_at_the_door), corners, strict=True):
            street.create_task(play(corner))


async def cut_before_the_pickup(corner: Corner) -> None:
    shipment, pin, code = await load(corner, "pickup")
    await corner.cut(pin)
    async with lasting(CUT_SECONDS):
        await corner.cycle(pin, code)
        await until(lambda: corner.running.box.cabinet.open_doors == [])
        assert await corner.type(pin) == "no_answer", "it was collected already"
    await corner.shows(shipment, "loaded", "occupied", True)
    await corner.mend()
    await corner.shows(shipment, "picked_up", "available", False)
    await ledgers_agree(corner, shipment, "reserved", "loaded", "picked_up", "door_available")


async def cut_before_the_loading(corner: Corner) -> None:
    shipment, pin, code = await reserve(corner, "loading")
    await corner.cut(pin)
    async with lasting(CUT_SECONDS):
        await corner.cycle(pin, code)
    await corner.shows(shipment, "reserved", "reserved", False)
    await corner.mend()
    await corner.shows(shipment, "loaded", "occupied", True)
    await ledgers_agree(corner, shipment, "reserved", "loaded")
    await corner.cycle(pin, code)
    await corner.shows(shipment, "picked_up", "available", False)
    await ledgers_agree(corner, shipment, "reserved", "loaded", "picked_up", "door_available")


async def cut_at_the_door(corner: Corner) -> None:
    shipment, pin, code = await load(corner, "door")
    await until(lambda: corner.running.box.alone.judge(pin, None) is not None)
    cable = corner.running.cable

    def cut_at_the_answer(message: Message) -> bool:
        if isinstance(message, Open | PinAnswer):
            cable.cut()
            return False
        return True

    cable.passes = cut_at_the_answer
    async with lasting(CUT_SECONDS):
        assert await corner.type(pin) == "opening"
        await until(lambda: corner.running.driver.is_open(code))
        await asyncio.sleep(0.5)
        corner.running.driver.close_door(code)
    await corner.shows(shipment, "loaded", "occupied", True)
    cable.passes = lambda _: True
    await corner.mend()
    await corner.shows(shipment, "picked_up", "available", False)
    await ledgers_agree(corner, shipment, "reserved", "loaded", "picked_up", "door_available")


@asynccontextmanager
async def lasting(seconds: float) -> AsyncIterator[None]:
    """What is done inside, and then the rest of the time."""
    rest = asyncio.create_task(asyncio.sleep(seconds))
    yield
    await rest


async def test_a_compartment_that_is_released_while_its_box_is_away_waits_for_the_box(
    corner: Corner, core: Core
) -> None:
    taken = [await reserve(corner, f"order-{number}") for number in range(6)]
    shipment, pin, _ = taken[0]
    await corner.cut(pin)
    await core_knows_that_it_is_away(corner, core)
    assert (await corner.shop.cancel(shipment)).json()["compartment_state"] == "available"
    assert (await corner.shop.reserve("next")).json()["error"]["code"] == "no_compartment_available"
    await corner.mend()

    async def reserved() -> bool:
        return (await corner.shop.reserve("next")).status_code == 201

    await until(reserved)
    assert await corner.type(pin) == "refused"
    assert await breaches(corner) == []


async def test_a_late_load_of_a_released_compartment_quarantines_it(corner: Corner, core: Core) -> None:
    shipment, pin, code = await reserve(corner, "order")
    await corner.cut(pin)
    await corner.shop.cancel(shipment)
    await corner.cycle(pin, code)
    await corner.mend()

    async def out_of_service() -> bool:
        async with core.db.connection() as connection:
            return not await connection.fetchval(
                "SELECT in_service FROM compartments WHERE box_id = $1 AND code = $2", corner.shop.box_id, code
            )

    await until(out_of_service)
    await corner.shows(shipment, "cancelled", "available", False)
    others = [(await corner.shop.reserve(f"next-{number}")).json() for number in range(5)]
    assert code not in [other["compartment_code"] for other in others]
    assert (await corner.shop.reserve("one more")).json()["error"]["code"] == "no_compartment_available"
    assert await breaches(corner) == []


async def test_a_deadline_that_passes_while_the_box_is_away_is_judged_by_its_journal(
    corner: Corner, core: Core
) -> None:
    shipment, pin, code = await load(corner, "order")
    late, _, _ = await load(corner, "nobody comes")
    await corner.cut(pin)
    await corner.cycle(pin, code)
    async with core.db.connection() as connection:
        await connection.execute("UPDATE devices SET caught_up_at = now() - interval '1 hour'")
        await connection.execute(
            "UPDATE shipments SET pickup_expires_at = now(), due_at = now() WHERE id = ANY ($1)", [shipment, late]
        )
    await asyncio.sleep(2)  # the worker looks for what is due every half second
    await corner.shows(shipment, "loaded", "occupied", True)
    await corner.shows(late, "loaded", "occupied", True)
    await corner.mend()
    await corner.shows(shipment, "picked_up", "available", False)
    await corner.shows(late, "expired", "awaiting_removal", False)
    async with core.db.connection() as connection:  # as it was before this test moved the deadline
        await connection.execute(
            "UPDATE shipments SET pickup_expires_at = loaded_at + make_interval(mins => pickup_ttl_minutes)"
        )
    assert await breaches(corner) == []


async def core_knows_that_it_is_away(corner: Corner, core: Core) -> None:
    async def so() -> bool:
        async with core.db.connection() as connection:
            return not await connection.fetchval("SELECT online FROM devices WHERE box_id = $1", corner.shop.box_id)

    await until(so)


async def test_a_box_that_was_switched_off_hands_over_and_does_not_load(corner: Corner, core: Core) -> None:
    """Nobody knows how long it was off: its lease is gone, its parcels are not."""
    _, loaded_pin, _ = await load(corner, "loaded")
    _, reserved_pin, _ = await reserve(corner, "reserved")
    await corner.cut(reserved_pin)
    box = corner.running.box
    fresh = type(box.alone)(box.journal, type(box._clock)())
    assert fresh.judge(loaded_pin, None) is not None
    assert fresh.judge(reserved_pin, None) is None
