"""The events that webhooks will carry: when each is told, and the values it shows."""

from datetime import datetime

import pytest

from tests.api.contract import WEBHOOK_EVENTS, breaches
from tests.api.stages import STATES, shipment_in
from tests.api.stored import told, wait
from tests.support.shop import Shop


@pytest.mark.parametrize("state", STATES)
async def test_every_event_carries_exactly_the_data_of_the_contract(shop: Shop, state: str) -> None:
    shipment_id = await shipment_in(shop, state)
    shown = (await shop.read(shipment_id)).json()
    events = await told(shop, shipment_id)
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert len({event["id"] for event in events}) == len(events)
    for event in events:
        assert event["type"] in WEBHOOK_EVENTS
        assert breaches(event["data"], "PublicWebhookData") == []
        assert event["data"]["shipment_id"] == shipment_id
        assert event["data"]["box_name"] == "Test box"
        for same in ("external_order_id", "attempt_number", "retry_of_shipment_id", "box_id", "compartment_code"):
            assert event["data"][same] == shown[same]


async def test_status_and_compartment_state_are_those_at_the_event(shop: Shop) -> None:
    shipment_id = await shop.reserved("order-1", "loaded")
    await wait(shop.core, shipment_id, 6)
    for event in ("picked_up", "door_available"):
        await shop.simulate(shipment_id, event)
    assert await _seen(shop, shipment_id) == [
        ("reserved", "reserved", "reserved"),
        ("loaded", "loaded", "occupied"),
        ("picked_up", "picked_up", "cooldown"),
        ("door_available", "picked_up", "available"),
    ]


async def test_an_early_pickup_tells_loaded_just_before_it(shop: Shop) -> None:
    shipment_id = await shop.reserved("order-1", "loaded", "picked_up")
    assert await _seen(shop, shipment_id) == [
        ("reserved", "reserved", "reserved"),
        ("loaded", "loaded", "occupied"),
        ("picked_up", "picked_up", "cooldown"),
    ]


@pytest.mark.parametrize("status", ["cancelled", "expired", "fault"])
async def test_removed_and_door_available_keep_the_final_status(shop: Shop, status: str) -> None:
    shipment_id = await shop.reserved("order-1", "loaded")
    await (shop.cancel(shipment_id) if status == "cancelled" else shop.simulate(shipment_id, status))
    await shop.simulate(shipment_id, "removed")
    assert (await _seen(shop, shipment_id))[1:] == [
        (status, status, "awaiting_removal"),
        ("removed", status, "awaiting_removal"),
        ("door_available", status, "available"),
    ]


@pytest.mark.parametrize("status", ["cancelled", "expired"])
async def test_an_empty_reservation_tells_its_end_and_then_door_available(shop: Shop, status: str) -> None:
    shipment_id = await shop.reserved()
    await (shop.cancel(shipment_id) if status == "cancelled" else shop.simulate(shipment_id, status))
    assert (await _seen(shop, shipment_id))[1:] == [
        (status, status, "available"),
        ("door_available", status, "available"),
    ]


@pytest.mark.parametrize("state", STATES)
async def test_door_available_is_told_once_and_exactly_when_the_compartment_is_free(shop: Shop, state: str) -> None:
    shipment_id = await shipment_in(shop, state)
    free = STATES[state][1][1] == "available"
    assert (await shop.events(shipment_id)).count("door_available") == free


async def test_a_retry_tells_reserved_of_the_new_attempt(shop: Shop) -> None:
    original = await shop.reserved("order-1", "fault", "removed")
    new = (await shop.retry(original)).json()["id"]
    (event,) = await told(shop, new)
    assert (event["type"], event["data"]["attempt_number"]) == ("reserved", 2)
    assert event["data"]["retry_of_shipment_id"] == original
    assert len(await told(shop, original)) == 4


async def test_the_times_of_an_event_are_those_of_the_shipment(shop: Shop) -> None:
    shipment_id = await shop.reserved("order-1", "loaded")
    assert (await told(shop, shipment_id))[0]["data"]["pickup_available_at"] is None
    await shop.simulate(shipment_id, "fault")
    shown = (await shop.read(shipment_id)).json()
    last = (await told(shop, shipment_id))[-1]
    for name in ("pickup_available_at", "pickup_expires_at"):
        assert datetime.fromisoformat(last["data"][name]) == datetime.fromisoformat(shown[name])
    assert datetime.fromisoformat(last["occurred_at"]) == datetime.fromisoformat(shown["updated_at"])


async def _seen(shop: Shop, shipment_id: str) -> list[tuple[str, str, str]]:
    return [
        (event["type"], event["data"]["status"], event["data"]["compartment_state"])
        for event in await told(shop, shipment_id)
    ]
