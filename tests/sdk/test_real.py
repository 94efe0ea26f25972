"""The SDK and the real service: one shipment from reservation to release, and the bytes of its webhooks."""

import json
import os
import time
from base64 import b64encode

import httpx2
import pytest
from pickupbox_sdk import (
    ApiError,
    AsyncPickupbox,
    CompartmentState,
    EventType,
    InvalidApiKey,
    NotFound,
    Status,
    ValidationFailed,
    VerificationFailed,
    webhooks,
)
from pickupbox_sdk.webhooks import Reason
from starlette.types import ASGIApp

from pickupbox.webhooks.signing import key_of, signed_headers
from tests.api.feeds import settled
from tests.support.shop import Shop

SECRET = "whsec_" + b64encode(os.urandom(32)).decode()


def client(app: ASGIApp, key: str) -> AsyncPickupbox:
    return AsyncPickupbox(key, "http://test/v1", transport=httpx2.ASGITransport(app))


async def test_one_shipment_from_reservation_to_release(shop: Shop, app: ASGIApp) -> None:
    async with client(app, shop.api_key) as sdk:
        assert [box.id for box in await sdk.list_boxes()] == [shop.box_id]
        made = await sdk.create_shipment(shop.box_id, "order-1", customer_name="Ada é 📦")
        assert (made.status, made.replayed) == (Status.RESERVED, False)
        again = await sdk.create_shipment(shop.box_id, "order-1")
        assert (again.id, again.pickup_pin, again.replayed) == (made.id, made.pickup_pin, True)
        assert (await sdk.get_pickup_pin(made.id)).pickup_pin == made.pickup_pin
        assert (await sdk.simulate_event(made.id, EventType.LOADED)).status is Status.LOADED
        await sdk.simulate_event(made.id, "fault")
        await sdk.simulate_event(made.id, "removed")
        second = await sdk.retry_shipment(made.id)
        assert (second.attempt_number, second.retry_of_shipment_id) == (2, made.id)
        cancelled = await sdk.cancel_shipment(second.id)
        assert cancelled.compartment_state is CompartmentState.AVAILABLE
        assert await sdk.find_shipments("order-1") == [await sdk.get_shipment(made.id), cancelled]
        await settled(shop)
        told = [event async for event in sdk.events(limit=2)]
        assert [event.type for event in told] == [
            "reserved",
            "fault",
            "removed",
            "door_available",
            "reserved",
            "cancelled",
            "door_available",
        ]
        assert [event async for event in sdk.events(after=told[3].id)] == told[4:]


@pytest.mark.parametrize("shipment_id", ["x" * 65, "a\nb", "\x00"])
async def test_the_frameworks_body_is_read(shop: Shop, app: ASGIApp, shipment_id: str) -> None:
    async with client(app, shop.api_key) as sdk:
        with pytest.raises(ValidationFailed) as raised:
            await sdk.get_shipment(shipment_id)
    assert raised.value.request_id
    assert raised.value.details[0]["loc"] == ["path", "shipment_id"]


async def test_refusals_carry_their_request_id(shop: Shop, app: ASGIApp) -> None:
    async with client(app, shop.api_key) as sdk, client(app, "pbx_test_wrong") as stranger:
        refused: list[ApiError] = []
        for call in (sdk.get_shipment("shp_x"), sdk.create_shipment("box_x", "order-1"), stranger.list_boxes()):
            with pytest.raises((NotFound, InvalidApiKey)) as raised:
                await call
            refused.append(raised.value)
    assert [error.code for error in refused] == ["shipment_not_found", "box_not_found", "invalid_api_key"]
    assert all(error.request_id.startswith("req_") for error in refused)


async def test_what_the_service_signs_is_verified_and_a_rewritten_body_is_recognised(shop: Shop, app: ASGIApp) -> None:
    await shop.reserved('order "é" \\ 📦 \t', "loaded", "picked_up")
    await settled(shop)
    async with client(app, shop.api_key) as sdk:
        events = (await sdk.list_events()).bodies()  # the feed has the bytes of each webhook
    assert len(events) == 3
    for body in events:
        event_id = json.loads(body)["id"]
        headers = signed_headers([key_of(SECRET)], event_id, int(time.time()), body)
        assert headers == webhooks.sign(SECRET, event_id, int(headers["Service-Timestamp"]), body)
        assert webhooks.verify(body, headers, SECRET).id == event_id
        for rewritten in (
            json.dumps(json.loads(body)),
            json.dumps(json.loads(body), indent=2),
            json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False),
            json.dumps(json.loads(body), sort_keys=True),
        ):
            with pytest.raises(VerificationFailed) as raised:
                webhooks.verify(rewritten.encode(), headers, SECRET)
            assert raised.value.reason is Reason.REWRITTEN_BODY
