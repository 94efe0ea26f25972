"""How a step changes a shipment: its times and its deadline."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickupbox.domain.advance import advance
from pickupbox.domain.lifecycle import FACES, NotInTableError, Stage, Status, Trigger, is_released, step
from pickupbox.domain.shipment import BoxSettings, Shipment
from tests.domain.walks import histories

BOX = BoxSettings(protection_seconds=120, cooldown_seconds=300, door_open_seconds=180)
BEGIN = datetime(2031, 5, 1, 12, 0, tzinfo=UTC)


def reserved() -> Shipment:
    return Shipment(
        tenant_id="ten_c1_1",
        id="shp_c1_1",
        external_order_id="order-1",
        attempt_number=1,
        retry_of_shipment_id=None,
        box_id="box_c1_1",
        compartment_code="A1",
        customer_name=None,
        reservation_ttl_minutes=1440,
        pickup_ttl_minutes=2880,
        stage=Stage.RESERVED,
        created_at=BEGIN,
        updated_at=BEGIN,
        reservation_expires_at=BEGIN + timedelta(minutes=1440),
        due_at=BEGIN + timedelta(minutes=1440),
    )


def after(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def went(*steps: tuple[Trigger, float]) -> Shipment:
    """The shipment after the triggers, each with its second."""
    return reduce(lambda shipment, s: advance(shipment, s[0], BOX, after(s[1])).shipment, steps, reserved())


def times(shipment: Shipment) -> list[datetime | None]:
    return [
        shipment.loaded_at,
        shipment.pickup_available_at,
        shipment.pickup_expires_at,
        shipment.picked_up_at,
        shipment.released_at,
    ]


def test_loading_sets_the_three_pickup_times_from_the_box_and_the_ttl() -> None:
    shipment = went((Trigger.LOAD, 10))
    assert times(shipment) == [after(10), after(10 + 120), after(10 + 2880 * 60), None, None]
    assert shipment.updated_at == after(10)
    assert shipment.due_at == shipment.pickup_available_at


def test_loading_through_an_open_door_counts_from_the_closing() -> None:
    shipment = went((Trigger.DOOR_OPENED, 10), (Trigger.DOOR_CLOSED, 30))
    assert times(shipment) == [after(30), after(30 + 120), after(30 + 2880 * 60), None, None]


def test_reopening_during_protection_keeps_when_it_was_first_loaded() -> None:
    first = went((Trigger.LOAD, 10))
    again = went((Trigger.LOAD, 10), (Trigger.DOOR_OPENED, 50), (Trigger.DOOR_CLOSED, 100))
    assert times(again) == times(first)
    assert again.due_at == first.due_at == after(130)


def test_a_door_closed_after_protection_would_have_ended_is_due_at_once() -> None:
    shipment = went((Trigger.LOAD, 10), (Trigger.DOOR_OPENED, 50), (Trigger.DOOR_CLOSED, 170))
    assert shipment.stage is Stage.PROTECTED
    assert shipment.due_at == after(130)
    assert shipment.due_at < shipment.updated_at


def test_pickup_sets_its_time_and_nothing_else_of_the_pickup() -> None:
    before = went((Trigger.LOAD, 10), (Trigger.PROTECTION_ENDED, 130))
    shipment = advance(before, Trigger.PICK_UP, BOX, after(500)).shipment
    assert times(shipment) == [*times(before)[:3], after(500), None]


def test_an_early_pickup_keeps_when_it_would_have_been_available() -> None:
    shipment = went((Trigger.LOAD, 10), (Trigger.PICK_UP, 20))
    assert times(shipment) == [after(10), after(130), after(10 + 2880 * 60), after(20), None]


def test_release_sets_its_time_and_leaves_the_pickup_as_it_was() -> None:
    shipment = went((Trigger.LOAD, 10), (Trigger.PICK_UP, 20), (Trigger.RELEASE, 320))
    assert (shipment.picked_up_at, shipment.released_at, shipment.updated_at) == (after(20), after(320), after(320))


def test_a_held_compartment_is_released_by_removal_only() -> None:
    held = went((Trigger.LOAD, 10), (Trigger.CANCEL, 20))
    assert held.released_at is None
    assert advance(held, Trigger.REMOVE, BOX, after(90)).shipment.released_at == after(90)


def test_an_empty_reservation_is_released_when_it_is_cancelled() -> None:
    shipment = went((Trigger.CANCEL, 5))
    assert times(shipment) == [None, None, None, None, after(5)]


@pytest.mark.parametrize(
    ("steps", "due"),
    [
        ([(Trigger.DOOR_OPENED, 10)], after(10 + 180)),
        ([(Trigger.LOAD, 10)], after(10 + 120)),
        ([(Trigger.LOAD, 10), (Trigger.DOOR_OPENED, 50)], after(50 + 180)),
        ([(Trigger.LOAD, 10), (Trigger.PROTECTION_ENDED, 131)], after(10 + 2880 * 60)),
        ([(Trigger.LOAD, 10), (Trigger.PROTECTION_ENDED, 131), (Trigger.DOOR_OPENED, 500)], after(500 + 180)),
        ([(Trigger.LOAD, 10), (Trigger.PICK_UP, 20)], after(20 + 300)),
        ([(Trigger.LOAD, 10), (Trigger.PICK_UP, 20), (Trigger.RELEASE, 320)], None),
        ([(Trigger.CANCEL, 5)], None),
        ([(Trigger.EXPIRE, 86400)], None),
        ([(Trigger.FAULT, 5)], None),
        ([(Trigger.LOAD, 10), (Trigger.CANCEL, 20)], None),
        ([(Trigger.LOAD, 10), (Trigger.EXPIRE, 20)], None),
        ([(Trigger.FAULT, 5), (Trigger.REMOVE, 20)], None),
    ],
)
def test_every_stage_is_due_when_the_design_says(steps: list[tuple[Trigger, float]], due: datetime | None) -> None:
    assert went(*steps).due_at == due


def test_a_simulated_pickup_cools_down_without_a_deadline() -> None:
    ready = went((Trigger.LOAD, 10), (Trigger.PROTECTION_ENDED, 130))
    assert advance(ready, Trigger.PICK_UP, BOX, after(200), simulated=True).shipment.due_at is None


def test_a_simulated_loading_is_protected_by_the_clock_all_the_same() -> None:
    assert advance(reserved(), Trigger.LOAD, BOX, after(10), simulated=True).shipment.due_at == after(130)


def test_a_now_before_the_last_change_never_runs_backwards() -> None:
    shipment = went((Trigger.LOAD, 100), (Trigger.PICK_UP, 40))
    assert (shipment.loaded_at, shipment.picked_up_at, shipment.updated_at) == (after(100), after(100), after(100))
    assert shipment.due_at == after(100 + 300)


def test_a_step_says_its_trigger_and_what_it_tells() -> None:
    taken = advance(reserved(), Trigger.CANCEL, BOX, after(5))
    assert taken.trigger is Trigger.CANCEL
    assert taken.emits == step(Stage.RESERVED, Trigger.CANCEL).emits


def test_a_step_that_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(NotInTableError):
        advance(reserved(), Trigger.PICK_UP, BOX, after(5))


def test_a_step_changes_nothing_but_stage_times_and_deadline() -> None:
    before = reserved()
    changed = advance(before, Trigger.LOAD, BOX, after(5)).shipment
    back = replace(
        changed,
        stage=before.stage,
        updated_at=before.updated_at,
        due_at=before.due_at,
        loaded_at=None,
        pickup_available_at=None,
        pickup_expires_at=None,
    )
    assert back == before == reserved()


@given(histories(), st.lists(st.integers(-600, 100_000), min_size=14, max_size=14), st.booleans())
def test_times_agree_with_the_stage_and_never_run_backwards(
    history: list[Trigger], pauses: list[int], simulated: bool
) -> None:
    shipment, now = reserved(), BEGIN
    for trigger, pause in zip(history[1:], pauses, strict=False):
        before, now = shipment, now + timedelta(seconds=pause)
        shipment = advance(before, trigger, BOX, now, simulated=simulated).shipment
        assert shipment.updated_at >= before.updated_at
        # What once happened is not rewritten.
        assert all(was in (None, is_now) for was, is_now in zip(times(before), times(shipment), strict=True))
        assert (shipment.loaded_at is not None) or shipment.status is not Status.LOADED
        assert (shipment.picked_up_at is not None) == (shipment.status is Status.PICKED_UP)
        assert (shipment.released_at is not None) == is_released(shipment.stage)
        known = [at for at in (shipment.loaded_at, shipment.picked_up_at, shipment.released_at) if at]
        assert [shipment.created_at, *known, shipment.updated_at] == sorted(
            [shipment.created_at, *known, shipment.updated_at]
        )


@pytest.mark.parametrize("stage", Stage)
def test_a_shipment_shows_the_face_of_its_stage(stage: Stage) -> None:
    shipment = replace(reserved(), stage=stage)
    assert (shipment.status, shipment.compartment_state, shipment.pickup_enabled) == (
        FACES[stage].status,
        FACES[stage].compartment_state,
        FACES[stage].pickup_enabled,
    )
