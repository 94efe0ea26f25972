"""The street: API, broker, gateway, worker, the program in the box and webhooks, all real, through whole lives."""

import asyncio

import pytest

from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.removal import confirm_empty, open_for_removal, release_in_emergency
from tests.street.corner import Corner, breaches, reserve, stage_is
from tests.support.waiting import until


async def test_a_parcel_is_loaded_corrected_collected_and_its_compartment_released(corner: Corner, core: Core) -> None:
    shipment, pin, code = await reserve(corner, "order")
    await corner.cycle(pin, code)
    await corner.shows(shipment, "loaded", "occupied", False)
    await corner.open_by(pin, code)  # the loader corrects, and the protection ends while the door is open
    await asyncio.sleep(2.5)
    await corner.was_told(shipment, "reserved")
    corner.running.driver.close_door(code)
    await corner.shows(shipment, "loaded", "occupied", True)
    await corner.was_told(shipment, "reserved", "loaded")
    await corner.cycle(pin, code)
    await corner.shows(shipment, "picked_up", "available", False)
    await corner.was_told(shipment, "reserved", "loaded", "picked_up", "door_available")
    assert await corner.type(pin) == "refused"
    assert await breaches(corner) == []


async def test_a_jammed_lock_is_a_fault_that_is_emptied_and_retried(corner: Corner, core: Core) -> None:
    operator = Caller(corner.shop.tenant, "operator one")
    shipment, pin, code = await reserve(corner, "order")
    corner.running.driver.jammed.add(code)
    assert await corner.type(pin) == "opening"
    await corner.shows(shipment, "fault", "awaiting_removal", False)
    corner.running.driver.jammed.clear()
    await open_for_removal(core, operator, shipment)
    await until(lambda: corner.running.driver.is_open(code))
    await asyncio.sleep(0.3)
    corner.running.driver.close_door(code)

    async def released() -> bool:
        try:
            await confirm_empty(core, operator, shipment)
        except Exception as refused:  # noqa: BLE001 - the door's last word may still be under way
            return type(refused).__name__ not in ("RemovalCycleMissing",) and _raise(refused)
        return True

    await until(released)
    await corner.was_told(shipment, "reserved", "fault", "removed", "door_available")
    retried = (await corner.shop.retry(shipment)).json()
    assert (retried["attempt_number"], retried["status"]) == (2, "reserved")
    await corner.cycle(retried["pickup_pin"], retried["compartment_code"])
    await corner.shows(retried["id"], "loaded", "occupied", False)
    assert await breaches(corner) == []


def _raise(error: Exception) -> bool:
    raise error


async def test_cancelling_behind_an_open_door_awaits_removal_and_two_people_can_release(
    corner: Corner, core: Core
) -> None:
    shipment, pin, code = await reserve(corner, "order")
    await corner.open_by(pin, code)
    await stage_is(core, shipment, "loading")
    cancelled = (await corner.shop.cancel(shipment)).json()
    assert (cancelled["status"], cancelled["compartment_state"]) == ("cancelled", "awaiting_removal")
    one, two = Caller(corner.shop.tenant, "one"), Caller(corner.shop.tenant, "two")
    assert await release_in_emergency(core, one, shipment, "the sensor is broken") is None
    with pytest.raises(Exception, match="two different people"):
        await release_in_emergency(core, one, shipment, "the sensor is broken")
    assert await release_in_emergency(core, two, shipment, "the sensor is broken") is not None
    await corner.was_told(shipment, "reserved", "cancelled", "removed", "door_available")
    assert await breaches(corner) == []


async def test_a_reservation_that_expires_behind_an_open_door_awaits_removal(corner: Corner, core: Core) -> None:
    shipment, pin, code = await reserve(corner, "order")
    await corner.open_by(pin, code)
    await stage_is(core, shipment, "loading")
    assert (await corner.shop.simulate(shipment, "expired")).status_code == 200
    await corner.shows(shipment, "expired", "awaiting_removal", False)
    corner.running.driver.close_door(code)
    assert await corner.type(pin) == "refused"
    await corner.was_told(shipment, "reserved", "expired")
    assert await breaches(corner) == []


async def test_who_stands_before_an_open_door_at_the_deadline_still_collects(corner: Corner, core: Core) -> None:
    shipment, pin, code = await reserve(corner, "order")
    await corner.cycle(pin, code)
    await corner.shows(shipment, "loaded", "occupied", True)
    async with core.db.connection() as connection:
        await connection.execute(
            "UPDATE shipments SET pickup_expires_at = d, due_at = d "
            "FROM (SELECT now() + interval '4 seconds' AS d) AS soon WHERE id = $1",
            shipment,
        )
    await corner.open_by(pin, code)
    await stage_is(core, shipment, "collecting")
    await asyncio.sleep(5)  # the deadline passes, and the worker looks for what is due every half second
    await corner.shows(shipment, "loaded", "occupied", True)
    corner.running.driver.close_door(code)
    await corner.shows(shipment, "picked_up", "available", False)
    await corner.was_told(shipment, "reserved", "loaded", "picked_up", "door_available")


async def test_simulated_events_move_the_virtual_doors_too(corner: Corner, core: Core) -> None:
    driver = corner.running.driver
    shipment, pin, code = await reserve(corner, "order")
    await corner.open_by(pin, code)
    await stage_is(core, shipment, "loading")
    assert (await corner.shop.simulate(shipment, "loaded")).status_code == 200
    await until(lambda: driver.holding == {code} and corner.running.box.cabinet.open_doors == [])
    await corner.shows(shipment, "loaded", "occupied", False)
    await corner.cycle(pin, code)
    await corner.shows(shipment, "loaded", "occupied", True)
    assert (await corner.shop.simulate(shipment, "picked_up")).status_code == 200
    await until(lambda: driver.holding == set())
    assert (await corner.shop.simulate(shipment, "door_available")).status_code == 200
    await corner.was_told(shipment, "reserved", "loaded", "picked_up", "door_available")
    assert await breaches(corner) == []
