"""Deadlines: which stages have one, and what happens when it passes."""

from datetime import UTC, datetime, timedelta

import pytest

from pickupbox.domain.deadlines import HEARD_BEFORE, WAIT_FOR_BOX, WHEN_DUE, due_at, waits_for_box
from pickupbox.domain.lifecycle import FACES, TRANSITIONS, Stage, Status, Trigger
from pickupbox.domain.shipment import BoxSettings, Shipment

NOW = datetime(2031, 5, 1, tzinfo=UTC)
BOX = BoxSettings(protection_seconds=120, cooldown_seconds=300, door_open_seconds=180)

# The design's stage table, last column.
EXPECTED = {
    Stage.RESERVED: Trigger.EXPIRE,
    Stage.LOADING: Trigger.FAULT,
    Stage.PROTECTED: Trigger.PROTECTION_ENDED,
    Stage.CORRECTING: Trigger.FAULT,
    Stage.READY: Trigger.EXPIRE,
    Stage.COLLECTING: Trigger.FAULT,
    Stage.COOLING: Trigger.RELEASE,
}


def at(stage: Stage) -> Shipment:
    return Shipment(
        "ten", "shp", "order", 1, None, "box", "A1", None, 1440, 2880, stage,
        created_at=NOW, updated_at=NOW + timedelta(hours=1), reservation_expires_at=NOW + timedelta(hours=2),
        loaded_at=NOW, pickup_available_at=NOW + timedelta(hours=3), pickup_expires_at=NOW + timedelta(hours=4),
    )  # fmt: skip


def test_what_happens_at_each_deadline_is_what_the_design_says() -> None:
    assert WHEN_DUE == EXPECTED


@pytest.mark.parametrize("stage", Stage)
def test_a_stage_has_a_deadline_exactly_if_something_happens_then_and_it_is_legal(stage: Stage) -> None:
    assert (due_at(at(stage), BOX, simulated=False) is not None) == (stage in WHEN_DUE)
    if stage in WHEN_DUE:
        assert (stage, WHEN_DUE[stage]) in TRANSITIONS


@pytest.mark.parametrize(
    ("stage", "hours", "seconds"),
    [
        (Stage.RESERVED, 2, 0),
        (Stage.LOADING, 1, 180),
        (Stage.PROTECTED, 3, 0),
        (Stage.CORRECTING, 1, 180),
        (Stage.READY, 4, 0),
        (Stage.COLLECTING, 1, 180),
        (Stage.COOLING, 1, 300),
    ],
)
def test_each_deadline_is_the_shipments_own_time_or_the_boxs_limit(stage: Stage, hours: int, seconds: int) -> None:
    assert due_at(at(stage), BOX, simulated=False) == NOW + timedelta(hours=hours, seconds=seconds)


@pytest.mark.parametrize("stage", Stage)
def test_only_the_cooldown_of_a_simulated_step_has_no_deadline(stage: Stage) -> None:
    simulated, real = (due_at(at(stage), BOX, simulated=simulated) for simulated in (True, False))
    assert simulated == (None if stage is Stage.COOLING else real)


def test_a_customer_before_an_open_door_at_the_pickup_deadline_still_collects() -> None:
    """The pickup deadline has no power over an open door; only the door's own limit does."""
    late = at(Stage.COLLECTING)
    due = due_at(late, BOX, simulated=False)
    assert due == late.updated_at + timedelta(seconds=180)
    assert FACES[TRANSITIONS[Stage.COLLECTING, Trigger.DOOR_CLOSED].stage].status is Status.PICKED_UP


DEADLINE = NOW + timedelta(hours=4)
MOMENT = timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("heard", "now", "waits"),
    [
        (DEADLINE + MOMENT, DEADLINE + timedelta(hours=1), False),
        (DEADLINE - HEARD_BEFORE, DEADLINE, False),
        (DEADLINE - HEARD_BEFORE - MOMENT, DEADLINE, True),
        (None, DEADLINE, True),
        (None, DEADLINE + WAIT_FOR_BOX, False),
    ],
    ids=["back again", "in reach", "out of reach", "never heard", "away for too long"],
)
def test_a_parcel_does_not_expire_while_only_its_box_knows_whether_it_is_there(
    heard: datetime | None, now: datetime, waits: bool
) -> None:
    assert waits_for_box(at(Stage.READY), heard, now) is waits
    assert not waits_for_box(at(Stage.RESERVED), heard, now)
