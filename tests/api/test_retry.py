"""POST /shipments/{shipment_id}/retry."""

import asyncio
from datetime import datetime, timedelta

import pytest

from pickupbox.database import boxes
from tests.api.contract import breaches
from tests.api.stages import STATES, face, shipment_in
from tests.api.stored import audit_of, everything, rows_of
from tests.support.shop import Shop

NOT_FAULTED = [state for state, (_, face) in STATES.items() if face[0] != "fault"]
NOT_RELEASED = [state for state, (_, face) in STATES.items() if face[:2] == ("fault", "awaiting_removal")]


async def test_a_released_fault_gets_a_new_attempt(shop: Shop) -> None:
    original = (await shop.reserve("order-1", customer_name="Ada")).json()
    await shipment_in(shop, "fault removed", "order-1")
    answer = await shop.retry(original["id"])
    body = answer.json()
    assert answer.status_code == 201
    assert breaches(body, "PublicShipmentCreateResponse") == []
    assert face(body) == ("reserved", "reserved", False)
    assert (body["attempt_number"], body["retry_of_shipment_id"]) == (2, original["id"])
    assert body["id"] != original["id"]
    for same in ("external_order_id", "box_id", "customer_name"):
        assert body[same] == original[same]
    assert [body[name] for name in ("loaded_at", "pickup_available_at", "pickup_expires_at", "picked_up_at")] == [
        None
    ] * 4
    assert await shop.events(body["id"]) == ["reserved"]
    assert "idempotent-replayed" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"


async def test_the_original_stays_fault(shop: Shop) -> None:
    shipment_id = await shipment_in(shop, "fault removed")
    before = (await shop.read(shipment_id)).json()
    await shop.retry(shipment_id)
    assert (await shop.read(shipment_id)).json() == before


async def test_the_new_attempt_has_a_pin_of_its_own(shop: Shop) -> None:
    pairs = []
    for number in range(3):
        first = (await shop.reserve(f"order-{number}")).json()
        await shop.simulate(first["id"], "fault")
        await shop.simulate(first["id"], "removed")
        new = (await shop.retry(first["id"])).json()
        assert (await shop.pin(new["id"])).json()["pickup_pin"] == new["pickup_pin"]
        pairs.append((first["pickup_pin"], new["pickup_pin"]))
    # One new PIN may equal the old one by chance, one in a million; not three of them.
    assert any(old != new for old, new in pairs)


async def test_retrying_again_returns_the_same_attempt_and_pin(shop: Shop) -> None:
    shipment_id = await shipment_in(shop, "fault removed")
    first, again = await shop.retry(shipment_id), await shop.retry(shipment_id)
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["idempotent-replayed"] == "true"
    assert len(await rows_of(shop.core, "shipments", shop.tenant, "")) == 2
    assert [entry["object"] for entry in await audit_of(shop)] == [first.json()["id"]]


async def test_many_retries_at_once_make_one_attempt(shop: Shop) -> None:
    shipment_id = await shipment_in(shop, "fault removed")
    answers = await asyncio.gather(*(shop.retry(shipment_id) for _ in range(20)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({(answer.json()["id"], answer.json()["pickup_pin"]) for answer in answers}) == 1


async def test_a_repeated_retry_shows_the_attempt_as_it_is_now(shop: Shop) -> None:
    shipment_id = await shipment_in(shop, "fault removed")
    new = (await shop.retry(shipment_id)).json()
    await shop.simulate(new["id"], "loaded")
    await shop.simulate(new["id"], "picked_up")
    again = (await shop.retry(shipment_id)).json()
    assert (again["id"], again["status"], again["pickup_pin"]) == (new["id"], "picked_up", new["pickup_pin"])


async def test_a_faulted_attempt_2_is_retried_by_its_own_id_and_becomes_attempt_3(shop: Shop) -> None:
    first = await shipment_in(shop, "fault removed")
    second = (await shop.retry(first)).json()["id"]
    await shop.simulate(second, "fault")
    await shop.simulate(second, "removed")
    third = (await shop.retry(second)).json()
    assert (third["attempt_number"], third["retry_of_shipment_id"]) == (3, second)
    assert (await shop.retry(first)).json()["id"] == second


async def test_a_retry_has_the_ttls_of_the_first_attempt(shop: Shop) -> None:
    shipment_id = await shop.reserved("order-1", "fault", "removed", reservation_ttl_minutes=20, pickup_ttl_minutes=70)
    body = (await shop.retry(shipment_id)).json()
    assert _minutes(body["updated_at"], body["reservation_expires_at"]) == 20
    loaded = (await shop.simulate(body["id"], "loaded")).json()
    assert _minutes(loaded["loaded_at"], loaded["pickup_expires_at"]) == 70


async def test_a_retry_in_a_full_or_closed_box_is_a_conflict(shop: Shop) -> None:
    box = await shop.add_box(compartments=1)
    shipment_id = await shop.reserved("order-1", "fault", "removed", box_id=box)
    taker = await shop.reserved("order-2", box_id=box)
    full = await shop.retry(shipment_id)
    assert (full.status_code, full.json()["error"]["code"]) == (409, "no_compartment_available")
    await shop.cancel(taker)
    async with shop.core.db.connection() as connection:
        await boxes.set_active(connection, shop.tenant, box, active=False)
    closed = await shop.retry(shipment_id)
    assert (closed.status_code, closed.json()["error"]["code"]) == (409, "no_compartment_available")


@pytest.mark.parametrize("state", NOT_FAULTED)
async def test_only_a_faulted_shipment_can_be_retried(shop: Shop, state: str) -> None:
    shipment_id = await shipment_in(shop, state)
    before = await everything(shop)
    answer = await shop.retry(shipment_id)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "shipment_not_faulted")
    assert breaches(answer.json(), "PublicErrorResponse") == []
    assert await everything(shop) == before


@pytest.mark.parametrize("state", NOT_RELEASED)
async def test_a_fault_is_retried_only_after_its_compartment_was_released(shop: Shop, state: str) -> None:
    shipment_id = await shipment_in(shop, state)
    before = await everything(shop)
    answer = await shop.retry(shipment_id)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "compartment_not_released")
    assert await everything(shop) == before
    await shop.simulate(shipment_id, "removed")
    assert (await shop.retry(shipment_id)).status_code == 201


async def test_an_unknown_shipment_cannot_be_retried(shop: Shop) -> None:
    answer = await shop.retry("shp_c1_00000000000000000000000000")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "shipment_not_found")


def _minutes(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)) / timedelta(minutes=1)
