"""What a row may say, tried past the code; and that the checks know the same stages as the lifecycle."""

import re
from typing import Any

import pytest

from pickupbox.domain.lifecycle import FACES, Stage, Status, is_released
from tests.database.rows import RELEASED, copy, copy_shipment, refused_by
from tests.support.shop import Shop

AT = "2031-01-01T00:00:00Z"
LOADED = {"loaded_at": AT, "pickup_available_at": AT, "pickup_expires_at": AT}


async def lists_of(raw: Any, constraint: str) -> list[set[str]]:
    """The lists of words in a constraint, in the order in which they are written."""
    text = await raw.fetchval("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = $1", constraint)
    return [set(re.findall(r"'(\w+)'", part)) for part in re.findall(r"ARRAY\[(.*?)\]", text)]


async def test_released_is_said_of_exactly_the_released_stages_and_no_other_stage_exists(raw: Any) -> None:
    released, live = await lists_of(raw, "shipments_released")
    assert released == {stage.value for stage in Stage if is_released(stage)}
    assert live == {stage.value for stage in Stage if not is_released(stage)}


async def test_due_is_said_of_exactly_the_stages_with_a_deadline(raw: Any) -> None:
    (due,) = await lists_of(raw, "shipments_due")
    waiting = {stage.value for stage in Stage if FACES[stage].status in (Status.RESERVED, Status.LOADED)}
    assert due == waiting


async def test_loaded_and_picked_up_are_said_of_exactly_the_stages_with_that_status(raw: Any) -> None:
    (loaded,) = await lists_of(raw, "shipments_loaded")
    (picked_up,) = await lists_of(raw, "shipments_picked_up")
    assert loaded == {stage.value for stage in Stage if FACES[stage].status is Status.LOADED}
    assert picked_up == {stage.value for stage in Stage if FACES[stage].status is Status.PICKED_UP}


BROKEN_ROWS: list[tuple[str, dict[str, Any]]] = [
    ("shipments_released", {"stage": "teleported", "due_at": None}),
    ("shipments_released", {"stage": "cancelled", "due_at": None}),
    ("shipments_released", {"released_at": AT}),
    ("shipments_released", {"stage": "fault_held", "due_at": None, "released_at": AT}),
    ("shipments_due", {"due_at": None}),
    ("shipments_due", {"stage": "loading", "due_at": None}),
    ("shipments_due", {"stage": "ready", "due_at": None, **LOADED}),
    ("shipments_due", {"stage": "fault_held"}),
    ("shipments_due", {"stage": "expired", "released_at": AT}),
    ("shipments_loaded", {"stage": "protected"}),
    ("shipments_loaded", {"stage": "ready", **LOADED, "pickup_available_at": None}),
    ("shipments_loaded", {"stage": "ready", **LOADED, "pickup_expires_at": None}),
    ("shipments_loaded", {"pickup_available_at": AT}),
    ("shipments_picked_up", {"stage": "cooling", **LOADED}),
    ("shipments_picked_up", {"picked_up_at": AT}),
    ("shipments_first_or_retry", {"attempt_number": 2}),
    ("shipments_attempt_number_check", {"attempt_number": 0}),
    ("shipments_external_order_id_check", {"external_order_id": ""}),
    ("shipments_external_order_id_check", {"external_order_id": "x" * 161}),
    ("shipments_customer_name_check", {"customer_name": "x" * 161}),
    ("shipments_reservation_ttl_minutes_check", {"reservation_ttl_minutes": 14}),
    ("shipments_reservation_ttl_minutes_check", {"reservation_ttl_minutes": 10081}),
    ("shipments_pickup_ttl_minutes_check", {"pickup_ttl_minutes": 59}),
    ("shipments_pickup_ttl_minutes_check", {"pickup_ttl_minutes": 43201}),
]


@pytest.mark.parametrize(("constraint", "changes"), BROKEN_ROWS)
async def test_a_shipment_that_contradicts_itself_is_refused(
    shop: Shop, raw: Any, constraint: str, changes: dict[str, Any]
) -> None:
    shipment = await shop.reserved("A")
    async with refused_by(raw, constraint):
        await copy_shipment(raw, shipment, **({"compartment_code": "B6"} | changes))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        RELEASED,
        {"stage": "ready", **LOADED},
        {"stage": "cooling", **LOADED, "picked_up_at": AT},
        {"stage": "cooling", **LOADED, "picked_up_at": AT, "due_at": None},
        {"stage": "cancelled_held", "due_at": None},
        {"external_order_id": "x" * 160, "customer_name": "ü" * 160},
    ],
)
async def test_a_shipment_that_agrees_with_itself_is_taken(shop: Shop, raw: Any, changes: dict[str, Any]) -> None:
    """Beside the refusals above: the rows there fail for their fault and for nothing else."""
    shipment = await shop.reserved("A")
    await copy_shipment(raw, shipment, **({"compartment_code": "B6"} | changes))


@pytest.mark.parametrize(
    ("constraint", "changes"),
    [
        ("boxes_reservation_ttl_minutes_check", {"reservation_ttl_minutes": 14}),
        ("boxes_pickup_ttl_minutes_check", {"pickup_ttl_minutes": 43201}),
        ("boxes_protection_seconds_check", {"protection_seconds": -1}),
        ("boxes_cooldown_seconds_check", {"cooldown_seconds": -1}),
        ("boxes_door_open_seconds_check", {"door_open_seconds": 9}),
        ("boxes_name_check", {"name": ""}),
    ],
)
async def test_a_box_outside_its_bounds_is_refused(
    shop: Shop, raw: Any, constraint: str, changes: dict[str, Any]
) -> None:
    async with refused_by(raw, constraint):
        await copy(raw, "boxes", shop.box_id, id="box_copy", **changes)


async def test_only_a_sandbox_can_be_a_demo(raw: Any) -> None:
    async with refused_by(raw, "deployment_check"):
        await raw.execute("UPDATE deployment SET environment = 'production', demo_settings = '{}'")
