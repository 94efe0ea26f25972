"""POST /shipments/{shipment_id}/cancel."""

import pytest

from tests.api.contract import breaches
from tests.api.stages import STATES, face, shipment_in
from tests.api.stored import everything
from tests.support.shop import Shop

FINISHED = [state for state, (_, face) in STATES.items() if face[0] in ("picked_up", "expired", "fault")]
CANCELLED = [state for state, (_, face) in STATES.items() if face[0] == "cancelled"]


async def test_an_empty_reservation_is_released_at_once(shop: Shop) -> None:
    box = await shop.add_box(compartments=1)
    shipment_id = await shop.reserved(box_id=box)
    answer = await shop.cancel(shipment_id)
    assert answer.status_code == 200
    assert breaches(answer.json(), "PublicShipmentRead") == []
    assert face(answer.json()) == ("cancelled", "available", False)
    assert await shop.events(shipment_id) == ["reserved", "cancelled", "door_available"]
    assert (await shop.reserve("next", box)).status_code == 201


@pytest.mark.parametrize("state", ["protected", "ready"])
async def test_a_loaded_shipment_awaits_removal(shop: Shop, state: str) -> None:
    shipment_id = await shipment_in(shop, state)
    answer = await shop.cancel(shipment_id)
    assert answer.status_code == 200
    assert face(answer.json()) == ("cancelled", "awaiting_removal", False)
    assert (await shop.events(shipment_id))[-1] == "cancelled"


async def test_a_cancelled_loaded_compartment_is_free_only_after_removal(shop: Shop) -> None:
    box = await shop.add_box(compartments=1)
    shipment_id = await shop.reserved("order-1", "loaded", box_id=box)
    await shop.cancel(shipment_id)
    assert (await shop.reserve("next", box)).status_code == 409
    assert face((await shop.simulate(shipment_id, "removed")).json()) == ("cancelled", "available", False)
    assert await shop.events(shipment_id) == ["reserved", "cancelled", "removed", "door_available"]
    assert (await shop.reserve("next", box)).status_code == 201


@pytest.mark.parametrize("state", CANCELLED)
async def test_cancelling_again_returns_the_shipment_and_changes_nothing(shop: Shop, state: str) -> None:
    shipment_id = await shipment_in(shop, state)
    before = await everything(shop)
    answer = await shop.cancel(shipment_id)
    assert (answer.status_code, answer.json()) == (200, (await shop.read(shipment_id)).json())
    assert await everything(shop) == before


@pytest.mark.parametrize("state", FINISHED)
async def test_a_finished_shipment_cannot_be_cancelled_and_does_not_change(shop: Shop, state: str) -> None:
    shipment_id = await shipment_in(shop, state)
    before = await everything(shop)
    answer = await shop.cancel(shipment_id)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "shipment_not_cancellable")
    assert breaches(answer.json(), "PublicErrorResponse") == []
    assert await everything(shop) == before


async def test_an_unknown_shipment_cannot_be_cancelled(shop: Shop) -> None:
    answer = await shop.cancel("shp_c1_00000000000000000000000000")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "shipment_not_found")


async def test_cancelling_sets_no_other_time_than_updated_at(shop: Shop) -> None:
    shipment_id = await shop.reserved("order-1", "loaded")
    before = (await shop.read(shipment_id)).json()
    after = (await shop.cancel(shipment_id)).json()
    assert {name for name in before if before[name] != after[name]} == {"status", "compartment_state", "updated_at"}
