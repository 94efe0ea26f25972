"""POST /sandbox/shipments/{shipment_id}/events."""

from typing import Any

import pytest

from tests.api.contract import SANDBOX_EVENTS, breaches
from tests.api.stages import STATES, Face, face, shipment_in
from tests.api.stored import everything, wait
from tests.support.shop import Shop

# The contract's table: event, the starting (status, compartment state), the result.
AWAITING = "awaiting_removal"
TABLE: dict[tuple[str, str, str], tuple[str, str]] = {
    ("loaded", "reserved", "reserved"): ("loaded", "occupied"),
    ("picked_up", "loaded", "occupied"): ("picked_up", "cooldown"),
    ("door_available", "picked_up", "cooldown"): ("picked_up", "available"),
    ("expired", "reserved", "reserved"): ("expired", "available"),
    ("expired", "loaded", "occupied"): ("expired", AWAITING),
    ("fault", "reserved", "reserved"): ("fault", AWAITING),
    ("fault", "loaded", "occupied"): ("fault", AWAITING),
    # The answer shows the second of the two events that `removed` causes.
    ("removed", "cancelled", AWAITING): ("cancelled", "available"),
    ("removed", "expired", AWAITING): ("expired", "available"),
    ("removed", "fault", AWAITING): ("fault", "available"),
}
EVERY_PAIR = [(state, event) for state in STATES for event in SANDBOX_EVENTS]
LEGAL = [pair for pair in EVERY_PAIR if (pair[1], *STATES[pair[0]][1][:2]) in TABLE]
ILLEGAL = [pair for pair in EVERY_PAIR if pair not in LEGAL]


@pytest.mark.parametrize(("state", "event"), LEGAL)
async def test_an_event_that_fits_leads_where_the_contract_says(shop: Shop, state: str, event: str) -> None:
    shipment_id = await shipment_in(shop, state)
    answer = await shop.simulate(shipment_id, event)
    assert answer.status_code == 200
    assert breaches(answer.json(), "PublicShipmentRead") == []
    assert face(answer.json()) == (*TABLE[(event, *STATES[state][1][:2])], False)
    assert answer.json() == (await shop.read(shipment_id)).json()


@pytest.mark.parametrize(("state", "event"), ILLEGAL)
async def test_an_event_that_does_not_fit_is_refused_and_changes_nothing(shop: Shop, state: str, event: str) -> None:
    shipment_id = await shipment_in(shop, state)
    before = await everything(shop)
    answer = await shop.simulate(shipment_id, event)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "invalid_sandbox_transition")
    assert breaches(answer.json(), "PublicErrorResponse") == []
    assert await everything(shop) == before


# What the whole way tells, by the last simulated event. `loaded` is delayed, so it is told only where said.
TOLD: list[tuple[list[str], Face, list[str]]] = [
    (["loaded"], ("loaded", "occupied", False), []),
    (["loaded", "picked_up"], ("picked_up", "cooldown", False), ["loaded", "picked_up"]),
    (
        ["loaded", "picked_up", "door_available"],
        ("picked_up", "available", False),
        ["loaded", "picked_up", "door_available"],
    ),
    (["expired"], ("expired", "available", False), ["expired", "door_available"]),
    (["loaded", "expired"], ("expired", AWAITING, False), ["expired"]),
    (["loaded", "expired", "removed"], ("expired", "available", False), ["expired", "removed", "door_available"]),
    (["fault"], ("fault", AWAITING, False), ["fault"]),
    (["loaded", "fault"], ("fault", AWAITING, False), ["fault"]),
    (["fault", "removed"], ("fault", "available", False), ["fault", "removed", "door_available"]),
]


@pytest.mark.parametrize(("events", "expected", "told"), TOLD)
async def test_the_events_told_follow_from_the_events_simulated(
    shop: Shop, events: list[str], expected: Face, told: list[str]
) -> None:
    shipment_id = await shop.reserved("order-1", *events)
    assert face((await shop.read(shipment_id)).json()) == expected
    assert await shop.events(shipment_id) == ["reserved", *told]


async def test_an_expired_reservation_is_free_at_once_and_a_loaded_one_only_after_removal(shop: Shop) -> None:
    box = await shop.add_box(compartments=1)
    await shop.reserved("A", "expired", box_id=box)
    loaded = await shop.reserved("B", "loaded", "expired", box_id=box)
    assert (await shop.reserve("C", box)).status_code == 409
    await shop.simulate(loaded, "removed")
    assert (await shop.reserve("C", box)).status_code == 201


async def test_a_picked_up_compartment_is_free_only_after_door_available(shop: Shop) -> None:
    box = await shop.add_box(compartments=1)
    shipment_id = await shop.reserved("A", "loaded", "picked_up", box_id=box)
    assert (await shop.reserve("B", box)).status_code == 409
    await shop.simulate(shipment_id, "door_available")
    assert (await shop.reserve("B", box)).status_code == 201


async def test_a_simulated_pickup_stays_in_cooldown_until_door_available_is_simulated(shop: Shop) -> None:
    shipment_id = await shop.reserved("order-1", "loaded", "picked_up")
    await wait(shop.core, shipment_id, 86_400)
    assert face((await shop.read(shipment_id)).json()) == ("picked_up", "cooldown", False)
    assert face((await shop.simulate(shipment_id, "door_available")).json()) == ("picked_up", "available", False)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"event": None},
        {"event": ""},
        {"event": "LOADED"},
        {"event": "reserved"},
        {"event": "cancelled"},
        {"event": 1},
        {"event": ["loaded"]},
        [],
        "loaded",
        None,
    ],
)
async def test_a_body_off_the_schema_is_422_with_the_envelope(shop: Shop, body: Any) -> None:
    shipment_id = await shop.reserved()
    before = await everything(shop)
    answer = await shop.http.post(f"/sandbox/shipments/{shipment_id}/events", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "validation_failed")
    assert breaches(answer.json(), "PublicErrorResponse") == []
    assert all(set(problem) == {"loc", "msg", "type"} for problem in answer.json()["error"]["details"])
    assert await everything(shop) == before


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (b"", "application/json"),
        (b"loaded", "application/json"),
        (b'{"event": "loaded"}', "text/plain"),
        (b'{"event": "loaded"}'.ljust(64 * 1024 + 1), "application/json"),
    ],
)
async def test_what_is_not_json_is_422_too_because_the_contract_lists_no_400_here(
    shop: Shop, content: bytes, content_type: str
) -> None:
    shipment_id = await shop.reserved()
    path = f"/sandbox/shipments/{shipment_id}/events"
    answer = await shop.http.post(path, content=content, headers={"content-type": content_type})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "validation_failed")
    assert face((await shop.read(shipment_id)).json()) == ("reserved", "reserved", False)


async def test_an_unknown_shipment_cannot_be_simulated(shop: Shop) -> None:
    answer = await shop.simulate("shp_c1_00000000000000000000000000", "loaded")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "shipment_not_found")
