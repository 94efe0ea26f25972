"""POST /shipments: a new reservation."""

import asyncio
import re
from datetime import datetime, timedelta

from pickupbox.database import boxes
from tests.api.contract import breaches
from tests.api.stored import audit_of, told
from tests.support.shop import Shop


async def test_a_new_reservation_is_reserved_with_a_pin_and_no_times(shop: Shop) -> None:
    answer = await shop.reserve("order-1", customer_name="Ada")
    body = answer.json()
    assert answer.status_code == 201
    assert (body["status"], body["compartment_state"], body["pickup_enabled"]) == ("reserved", "reserved", False)
    assert (body["attempt_number"], body["retry_of_shipment_id"]) == (1, None)
    assert [body[name] for name in ("loaded_at", "pickup_available_at", "pickup_expires_at", "picked_up_at")] == [
        None
    ] * 4
    assert len(body["pickup_pin"]) == 6
    assert body["pickup_pin"].isdigit()
    assert "idempotent-replayed" not in answer.headers


async def test_two_orders_never_share_a_compartment(shop: Shop) -> None:
    box = await shop.add_box(compartments=1)
    answers = await asyncio.gather(shop.reserve("A", box), shop.reserve("B", box))
    assert sorted(answer.status_code for answer in answers) == [201, 409]


async def test_a_reservation_has_exactly_the_fields_of_the_contract(shop: Shop) -> None:
    assert breaches((await shop.reserve("named", customer_name="Ada")).json(), "PublicShipmentCreateResponse") == []
    assert breaches((await shop.reserve("nameless")).json(), "PublicShipmentCreateResponse") == []


async def test_a_reservation_says_what_was_asked_for(shop: Shop) -> None:
    body = (await shop.reserve("order-7", customer_name="Ada")).json()
    assert (body["external_order_id"], body["box_id"], body["customer_name"]) == ("order-7", shop.box_id, "Ada")
    assert (await shop.reserve("order-8")).json()["customer_name"] is None


async def test_identifiers_are_prefixed_and_in_order_of_creation(shop: Shop) -> None:
    first = await shop.reserved("A")
    # Time is kept in milliseconds: two ids of one millisecond have no order.
    await asyncio.sleep(0.002)
    second = await shop.reserved("B")
    event_id = (await told(shop, first))[0]["id"]
    for identifier, prefix in ((first, "shp"), (shop.box_id, "box"), (event_id, "evt")):
        assert re.fullmatch(rf"{prefix}_c1_[0-9a-z]{{26,32}}", identifier)
    assert first < second
    # Unguessable: 80 bits of chance follow the time.
    assert first[-16:] != second[-16:]


async def test_compartments_have_short_codes_and_no_two_orders_get_the_same(shop: Shop) -> None:
    codes = [(await shop.reserve(f"order-{number}")).json()["compartment_code"] for number in range(12)]
    assert len(set(codes)) == 12
    assert all(re.fullmatch("[A-Z][1-9]", code) for code in codes)


async def test_omitted_or_null_ttls_are_those_of_the_box(shop: Shop) -> None:
    box = await shop.add_box(reservation_ttl_minutes=33, pickup_ttl_minutes=77)
    nulls = {"reservation_ttl_minutes": None, "pickup_ttl_minutes": None}
    for order, more in (("omitted", {}), ("null", nulls)):
        body = (await shop.reserve(order, box, **more)).json()
        assert _minutes(body["updated_at"], body["reservation_expires_at"]) == 33
        loaded = (await shop.simulate(body["id"], "loaded")).json()
        assert _minutes(loaded["loaded_at"], loaded["pickup_expires_at"]) == 77


async def test_a_box_that_nobody_set_up_otherwise_has_the_defaults(shop: Shop) -> None:
    body = (await shop.reserve()).json()
    assert _minutes(body["updated_at"], body["reservation_expires_at"]) == 1440
    loaded = (await shop.simulate(body["id"], "loaded")).json()
    assert _minutes(loaded["loaded_at"], loaded["pickup_expires_at"]) == 2880
    assert _minutes(loaded["loaded_at"], loaded["pickup_available_at"]) * 60 == 5


async def test_the_pickup_ttl_counts_from_loading(shop: Shop) -> None:
    body = (await shop.reserve(pickup_ttl_minutes=60)).json()
    assert body["pickup_expires_at"] is None
    await asyncio.sleep(0.05)
    loaded = (await shop.simulate(body["id"], "loaded")).json()
    assert _minutes(loaded["loaded_at"], loaded["pickup_expires_at"]) == 60
    assert loaded["loaded_at"] > body["updated_at"]


async def test_a_full_box_is_a_conflict_until_a_compartment_is_released(shop: Shop) -> None:
    box = await shop.add_box(compartments=1)
    first = await shop.reserved("A", box_id=box)
    refused = await shop.reserve("B", box)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "no_compartment_available")
    await shop.cancel(first)
    assert (await shop.reserve("B", box)).status_code == 201


async def test_a_compartment_out_of_service_is_not_reserved(shop: Shop) -> None:
    box = await shop.add_box(compartments=2)
    async with shop.core.db.connection() as connection:
        assert await boxes.set_in_service(connection, shop.tenant, box, "A1", in_service=False)
    assert (await shop.reserve("A", box)).json()["compartment_code"] == "A2"
    assert (await shop.reserve("B", box)).status_code == 409


async def test_an_unknown_and_an_inactive_box_are_not_found(shop: Shop) -> None:
    box = await shop.add_box()
    async with shop.core.db.connection() as connection:
        assert await boxes.set_active(connection, shop.tenant, box, active=False)
    for absent in (box, "box_c1_nothing", "x"):
        answer = await shop.reserve("order-1", absent)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "box_not_found")


async def test_a_reservation_tells_reserved_and_needs_no_audit_entry(shop: Shop) -> None:
    body = (await shop.reserve()).json()
    assert await shop.events(body["id"]) == ["reserved"]
    assert await audit_of(shop) == []


async def test_an_answer_with_a_pin_is_never_cached(shop: Shop) -> None:
    assert (await shop.reserve()).headers["cache-control"] == "no-store"
    assert (await shop.reserve()).headers["cache-control"] == "no-store"


async def test_the_pin_is_different_for_every_live_shipment_of_a_box(shop: Shop) -> None:
    box = await shop.add_box(compartments=60)
    answers = await asyncio.gather(*(shop.reserve(f"order-{number}", box) for number in range(60)))
    assert len({answer.json()["pickup_pin"] for answer in answers}) == 60


def _minutes(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)) / timedelta(minutes=1)
