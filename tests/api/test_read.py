"""GET /shipments/{shipment_id}."""

import pytest

from tests.api.contract import breaches
from tests.api.stages import STATES, face, shipment_in
from tests.api.stored import audit_of, everything
from tests.support.shop import Shop


@pytest.mark.parametrize("state", STATES)
async def test_a_shipment_has_exactly_the_fields_of_the_contract_in_every_state(shop: Shop, state: str) -> None:
    answer = await shop.read(await shipment_in(shop, state))
    assert answer.status_code == 200
    assert breaches(answer.json(), "PublicShipmentRead") == []
    assert face(answer.json()) == STATES[state][1]


async def test_a_read_shows_what_the_reservation_answered_but_never_the_pin(shop: Shop) -> None:
    made = (await shop.reserve("order-1", customer_name="Ada")).json()
    answer = await shop.read(made["id"])
    pin = made.pop("pickup_pin")
    assert answer.json() == made
    # The six digits may stand in a time's microseconds by chance, but nowhere as a value.
    assert pin not in answer.json().values()


async def test_times_are_set_as_the_shipment_goes_on_and_then_stay(shop: Shop) -> None:
    shipment_id = await shop.reserved()
    reserved = (await shop.read(shipment_id)).json()
    loaded, picked_up, collected = [
        (await shop.simulate(shipment_id, event)).json() for event in ("loaded", "picked_up", "door_available")
    ]
    seen = (reserved, loaded, picked_up, collected)
    assert loaded["loaded_at"] == loaded["updated_at"]
    assert loaded["loaded_at"] < loaded["pickup_available_at"] < loaded["pickup_expires_at"]
    assert loaded["picked_up_at"] is None
    assert picked_up["picked_up_at"] == picked_up["updated_at"]
    assert [s["updated_at"] for s in seen] == sorted({s["updated_at"] for s in seen})
    assert len({s["reservation_expires_at"] for s in seen}) == 1
    for name in ("loaded_at", "pickup_available_at", "pickup_expires_at"):
        assert loaded[name] == picked_up[name] == collected[name]
    assert picked_up["picked_up_at"] == collected["picked_up_at"]
    assert reserved["reservation_expires_at"] > reserved["updated_at"]


async def test_reading_changes_nothing_and_is_not_audited(shop: Shop) -> None:
    shipment_id = await shop.reserved()
    before = await everything(shop)
    assert (await shop.read(shipment_id)).json() == (await shop.read(shipment_id)).json()
    assert await everything(shop) == before
    assert await audit_of(shop) == []


async def test_an_unknown_shipment_is_not_found(shop: Shop) -> None:
    answer = await shop.read("shp_c1_00000000000000000000000000")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "shipment_not_found")
    assert breaches(answer.json(), "PublicErrorResponse") == []


async def test_a_box_id_or_an_order_id_is_no_shipment_id(shop: Shop) -> None:
    await shop.reserve("order-1")
    assert (await shop.read(shop.box_id)).status_code == 404
    assert (await shop.read("order-1")).status_code == 404
