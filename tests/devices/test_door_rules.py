"""What a report of a box means: a step that the lifecycle knows, or none; and doubt about what lies behind a door."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickupbox.domain.doors import PURPOSES, Happening, Purpose, leaves_doubt, triggers_of
from pickupbox.domain.lifecycle import FACES, TRANSITIONS, CompartmentState, Stage, Status, Trigger, step
from tests.domain.walks import histories

HAPPENINGS = st.sampled_from(Happening)
STAGES = st.sampled_from(Stage)
OPENED_FOR = st.sampled_from(Purpose) | st.none()
COMMANDED = {
    (Happening.DOOR_OPENED, Stage.RESERVED): Stage.LOADING,
    (Happening.DOOR_CLOSED, Stage.LOADING): Stage.PROTECTED,
    (Happening.DOOR_OPENED, Stage.PROTECTED): Stage.CORRECTING,
    (Happening.DOOR_CLOSED, Stage.CORRECTING): Stage.PROTECTED,
    (Happening.DOOR_OPENED, Stage.READY): Stage.COLLECTING,
    (Happening.DOOR_CLOSED, Stage.COLLECTING): Stage.COOLING,
}


@given(HAPPENINGS, STAGES, OPENED_FOR)
def test_every_report_leads_to_steps_of_the_table_or_to_none(
    happening: Happening, stage: Stage, purpose: Purpose | None
) -> None:
    for trigger in triggers_of(happening, stage, purpose):
        assert (stage, trigger) in TRANSITIONS
        stage = step(stage, trigger).stage


@pytest.mark.parametrize("happening", Happening)
@pytest.mark.parametrize("stage", Stage)
def test_a_commanded_report_takes_exactly_the_steps_of_a_door_cycle(happening: Happening, stage: Stage) -> None:
    triggers = triggers_of(happening, stage, PURPOSES.get(stage, Purpose.REMOVE))
    after = step(stage, *triggers).stage if triggers else None
    if happening is Happening.LOCK_FAILED:
        assert after == (Stage.FAULT_HELD if (stage, Trigger.FAULT) in TRANSITIONS else None)
    else:
        assert after == COMMANDED.get((happening, stage))


@given(STAGES | st.none())
def test_a_door_that_opens_uncommanded_never_leaves_a_compartment_available(stage: Stage | None) -> None:
    if leaves_doubt(Happening.DOOR_OPENED, stage, commanded=False):
        return
    assert stage is not None
    triggers = triggers_of(Happening.DOOR_OPENED, stage, None)
    after = step(stage, *triggers).stage if triggers else stage
    assert FACES[after].compartment_state is CompartmentState.AWAITING_REMOVAL


@pytest.mark.parametrize("purpose", [Purpose.LOAD, Purpose.CORRECT])
def test_who_loaded_or_corrected_has_not_collected_however_late_the_report_comes(purpose: Purpose) -> None:
    assert triggers_of(Happening.DOOR_OPENED, Stage.READY, purpose) == ()
    assert triggers_of(Happening.DOOR_CLOSED, Stage.READY, purpose) == ()


def test_who_collected_by_the_box_alone_did_so_after_the_protection() -> None:
    triggers = triggers_of(Happening.DOOR_OPENED, Stage.PROTECTED, Purpose.PICK_UP)
    assert triggers == (Trigger.PROTECTION_ENDED, Trigger.DOOR_OPENED)


@given(histories(), HAPPENINGS, OPENED_FOR)
def test_wherever_a_shipment_is_no_report_frees_its_compartment(
    history: list[Trigger], happening: Happening, purpose: Purpose | None
) -> None:
    stage = None
    for trigger in history:
        stage = step(stage, trigger).stage
    assert stage is not None
    for trigger in triggers_of(happening, stage, purpose):
        stage = step(stage, trigger).stage
        assert FACES[stage].compartment_state is not CompartmentState.AVAILABLE


@given(HAPPENINGS, STAGES | st.none(), st.booleans())
def test_only_an_opened_door_or_a_failed_lock_leaves_doubt(
    happening: Happening, stage: Stage | None, commanded: bool
) -> None:
    if leaves_doubt(happening, stage, commanded=commanded):
        assert happening in (Happening.DOOR_OPENED, Happening.LOCK_FAILED)
        assert (stage, Trigger.DOOR_OPENED) not in TRANSITIONS


def test_a_door_that_opens_once_more_after_the_pickup_leaves_doubt() -> None:
    assert leaves_doubt(Happening.DOOR_OPENED, Stage.COOLING, commanded=True)
    assert not leaves_doubt(Happening.DOOR_OPENED, Stage.READY, commanded=True)


@pytest.mark.parametrize("commanded", [True, False])
def test_a_lock_that_failed_where_no_shipment_is_leaves_doubt(commanded: bool) -> None:
    assert leaves_doubt(Happening.LOCK_FAILED, None, commanded=commanded)


@given(STAGES)
def test_a_shipment_that_is_live_or_awaits_removal_keeps_its_compartment_in_service(stage: Stage) -> None:
    live = FACES[stage].status in (Status.RESERVED, Status.LOADED)
    held = FACES[stage].compartment_state is CompartmentState.AWAITING_REMOVAL
    assert leaves_doubt(Happening.DOOR_OPENED, stage, commanded=False) != (live or held)


@pytest.mark.parametrize("stage", Stage)
def test_a_pin_opens_exactly_while_the_public_sees_reserved_or_loaded(stage: Stage) -> None:
    assert (stage in PURPOSES) == (FACES[stage].status in (Status.RESERVED, Status.LOADED))


def test_no_pin_opens_for_removal() -> None:
    assert Purpose.REMOVE not in PURPOSES.values()
