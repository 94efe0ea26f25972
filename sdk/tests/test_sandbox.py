"""The sandbox in memory as a shop uses it. That it is like the real one is proved beside the service."""

import asyncio
from collections.abc import Mapping

import pytest

from pickupbox_sdk import (
    ConnectionFailed,
    Event,
    InvalidApiKey,
    NoCompartmentAvailable,
    Pickupbox,
    RateLimited,
    Status,
    webhooks,
)
from pickupbox_sdk.testing import Sandbox


def test_a_shop_can_be_tested_from_reservation_to_release(pickupbox_sandbox: Sandbox) -> None:
    told: list[Event] = []

    def receive(body: bytes, headers: Mapping[str, str]) -> None:
        told.append(webhooks.verify(body, headers, pickupbox_sandbox.webhook_secret))

    pickupbox_sandbox.deliver_to(receive)
    shop = pickupbox_sandbox.client()
    shipment = shop.create_shipment(pickupbox_sandbox.box.id, "order-1", customer_name="Ada")
    assert shop.get_pickup_pin(shipment.id).pickup_pin == shipment.pickup_pin
    shop.simulate_event(shipment.id, "loaded")
    assert [event.type for event in told] == ["reserved"]
    pickupbox_sandbox.let_time_pass(5)
    assert [event.type for event in told] == ["reserved", "loaded"]
    assert shop.get_shipment(shipment.id).pickup_enabled
    shop.simulate_event(shipment.id, "picked_up")
    shop.simulate_event(shipment.id, "door_available")
    assert [event.type for event in told] == ["reserved", "loaded", "picked_up", "door_available"]
    assert told == list(shop.events())


def test_each_test_has_a_sandbox_of_its_own(pickupbox_sandbox: Sandbox) -> None:
    assert list(pickupbox_sandbox.client().events()) == []


def test_a_reservation_expires_by_the_clock(pickupbox_sandbox: Sandbox) -> None:
    shop = pickupbox_sandbox.client()
    shipment = shop.create_shipment(pickupbox_sandbox.box.id, "order-1", reservation_ttl_minutes=15)
    pickupbox_sandbox.let_time_pass(15 * 60 - 1)
    assert shop.get_shipment(shipment.id).status is Status.RESERVED
    pickupbox_sandbox.let_time_pass(2)
    assert shop.get_shipment(shipment.id).status is Status.EXPIRED


def test_a_parcel_passes_both_of_its_deadlines_in_order(pickupbox_sandbox: Sandbox) -> None:
    shop = pickupbox_sandbox.client()
    shipment = shop.create_shipment(pickupbox_sandbox.box.id, "order-1", pickup_ttl_minutes=60)
    shop.simulate_event(shipment.id, "loaded")
    pickupbox_sandbox.let_time_pass(86_400)
    assert [event.type for event in shop.events()] == ["reserved", "loaded", "expired"]


def test_a_box_can_be_full(pickupbox_sandbox: Sandbox) -> None:
    box = pickupbox_sandbox.add_box("Small", compartments=1)
    shop = pickupbox_sandbox.client()
    shop.create_shipment(box.id, "order-1")
    with pytest.raises(NoCompartmentAvailable):
        shop.create_shipment(box.id, "order-2")
    assert [found.name for found in shop.list_boxes()] == ["Small", "Test box"]


def test_what_seldom_happens_can_be_made_to(pickupbox_sandbox: Sandbox) -> None:
    shop = pickupbox_sandbox.client()
    pickupbox_sandbox.fail_next(RateLimited, retry_after=2)
    pickupbox_sandbox.fail_next(ConnectionFailed)
    pickupbox_sandbox.lose_next_answer()
    shipment = shop.create_shipment(pickupbox_sandbox.box.id, "order-1")
    assert shipment.replayed
    assert len(shop.find_shipments("order-1")) == 1
    impatient = pickupbox_sandbox.client(max_retries=0)
    pickupbox_sandbox.fail_next(NoCompartmentAvailable, times=2)
    for _ in range(2):
        with pytest.raises(NoCompartmentAvailable, match="no free compartment"):
            impatient.list_boxes()
    impatient.list_boxes()


def test_a_receiver_may_call_back_and_still_gets_everything_in_order(pickupbox_sandbox: Sandbox) -> None:
    shop = pickupbox_sandbox.client()
    told: list[str] = []

    def receive(body: bytes, headers: Mapping[str, str]) -> None:
        event = webhooks.verify(body, headers, pickupbox_sandbox.webhook_secret)
        if event.type == "reserved":
            shop.cancel_shipment(event.data.shipment_id)
        told.append(event.type)

    pickupbox_sandbox.deliver_to(receive)
    shop.create_shipment(pickupbox_sandbox.box.id, "order-1")
    assert told == ["reserved", "cancelled", "door_available"]


def test_deliveries_are_kept_for_a_receiver_that_has_to_be_awaited(pickupbox_sandbox: Sandbox) -> None:
    async def main() -> None:
        async with pickupbox_sandbox.async_client() as shop:
            await shop.create_shipment(pickupbox_sandbox.box.id, "order-1")

    asyncio.run(main())
    (delivery,) = pickupbox_sandbox.deliveries
    assert webhooks.verify(delivery.body, delivery.headers, pickupbox_sandbox.webhook_secret).type == "reserved"


def test_a_wrong_key_is_refused(pickupbox_sandbox: Sandbox) -> None:
    stranger = Pickupbox("wrong", pickupbox_sandbox.base_url, transport=pickupbox_sandbox.transport)
    with stranger, pytest.raises(InvalidApiKey):
        stranger.list_boxes()
