"""POST /shipments with an external_order_id that has been used: the idempotency key."""

import asyncio

import pytest

from pickupbox.database import boxes
from pickupbox.usecases.retention import erase_names
from tests.api.contract import breaches
from tests.api.stages import STATES, shipment_in
from tests.api.stored import audit_of, rows_of, wait
from tests.support.shop import Shop

DAY = 86_400


async def test_the_same_request_again_returns_the_original_and_its_pin(shop: Shop) -> None:
    first = await shop.reserve("order-1")
    again = await shop.reserve("order-1")
    assert again.status_code == 201
    assert again.json() == first.json()
    assert again.headers["idempotent-replayed"] == "true"
    assert len(await rows_of(shop.core, "shipments", shop.tenant, "")) == 1
    assert await shop.events(first.json()["id"]) == ["reserved"]


async def test_many_identical_requests_at_once_make_one_shipment(shop: Shop) -> None:
    answers = await asyncio.gather(*(shop.reserve("order-1") for _ in range(20)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({(answer.json()["id"], answer.json()["pickup_pin"]) for answer in answers}) == 1
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 1


@pytest.mark.parametrize("state", STATES)
async def test_a_repeated_request_shows_the_shipment_as_it_is_now(shop: Shop, state: str) -> None:
    pin = (await shop.reserve("order-1")).json()["pickup_pin"]
    shipment_id = await shipment_in(shop, state, "order-1")
    again = (await shop.reserve("order-1")).json()
    assert breaches(again, "PublicShipmentCreateResponse") == []
    assert again == (await shop.read(shipment_id)).json() | {"pickup_pin": pin}


async def test_other_ttls_or_another_name_still_return_the_original(shop: Shop) -> None:
    first = (await shop.reserve("order-1", customer_name="Ada", reservation_ttl_minutes=20)).json()
    again = await shop.reserve("order-1", customer_name="Grace", reservation_ttl_minutes=30, pickup_ttl_minutes=90)
    assert (again.status_code, again.json()) == (201, first)


async def test_the_same_order_in_another_box_is_a_conflict_that_names_the_shipment(shop: Shop) -> None:
    first = await shop.reserved("order-1")
    answer = await shop.reserve("order-1", await shop.add_box())
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (409, "external_order_conflict")
    assert error["details"] == {"existing_shipment_id": first}
    assert len(await rows_of(shop.core, "shipments", shop.tenant, "")) == 1


async def test_a_full_or_closed_box_still_returns_the_original(shop: Shop) -> None:
    box = await shop.add_box(compartments=1)
    first = (await shop.reserve("order-1", box)).json()
    assert (await shop.reserve("order-1", box)).json() == first
    async with shop.core.db.connection() as connection:
        await boxes.set_active(connection, shop.tenant, box, active=False)
    assert (await shop.reserve("order-1", box)).json() == first


async def test_after_a_fault_the_same_order_returns_the_first_attempt(shop: Shop) -> None:
    first = (await shop.reserve("order-1")).json()
    await shipment_in(shop, "fault removed", "order-1")
    assert (await shop.reserve("order-1")).json()["id"] == first["id"]
    retried = (await shop.retry(first["id"])).json()
    again = (await shop.reserve("order-1")).json()
    assert (again["id"], again["status"], again["attempt_number"]) == (first["id"], "fault", 1)
    assert again["pickup_pin"] == first["pickup_pin"]
    assert retried["id"] != first["id"]


async def test_two_tenants_may_use_the_same_order_id(shop: Shop, other_shop: Shop) -> None:
    mine, theirs = await shop.reserve("order-1"), await other_shop.reserve("order-1")
    assert (mine.status_code, theirs.status_code) == (201, 201)
    assert mine.json()["id"] != theirs.json()["id"]


async def test_order_ids_are_compared_to_the_letter(shop: Shop) -> None:
    ids = {(await shop.reserve(order)).json()["id"] for order in ("order", "Order", "order ", "ordér", "orde\u0301r")}
    assert len(ids) == 5


async def test_a_repeated_request_is_audited_like_a_pin_reveal(shop: Shop) -> None:
    shipment_id = await shop.reserved("order-1")
    again = await shop.reserve("order-1")
    (entry,) = await audit_of(shop)
    assert (entry["action"], entry["object"], entry["actor"]) == ("pin.reveal", shipment_id, shop.key_id)
    assert entry["request_id"] == again.headers["x-request-id"]


async def test_a_conflict_shows_no_pin_and_is_not_audited(shop: Shop) -> None:
    await shop.reserve("order-1")
    await shop.reserve("order-1", await shop.add_box())
    assert await audit_of(shop) == []


async def test_the_name_is_erased_30_days_after_release_and_the_pin_is_not(shop: Shop) -> None:
    first = (await shop.reserve("order-1", customer_name="Ada")).json()
    held = await shop.reserved("order-2", "fault", customer_name="Grace")
    await shop.cancel(first["id"])
    for shipment_id in (first["id"], held):
        await wait(shop.core, shipment_id, 30 * DAY - 60)
    await erase_names(shop.core, 1000)
    assert (await shop.read(first["id"])).json()["customer_name"] == "Ada"
    for shipment_id in (first["id"], held):
        await wait(shop.core, shipment_id, 120)
    await erase_names(shop.core, 1000)
    assert (await shop.read(first["id"])).json()["customer_name"] is None
    # Not released: somebody may still have to be told.
    assert (await shop.read(held)).json()["customer_name"] == "Grace"
    again = (await shop.reserve("order-1")).json()
    assert (again["pickup_pin"], again["customer_name"]) == (first["pickup_pin"], None)
