"""What a report of a box means: a step that the lifecycle knows, or none; and doubt about what lies behind a door."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickupbox.domain.doors import PURPOSES, Happening, Purpose, leaves_doubt, trigger_of
from pickupbox.domain.lifecycle import FACES, TRANSITIONS, CompartmentState, Stage, Status, Trigger, step
from tests.domain.walks import histories

HAPPENINGS = st.sampled_from(Happening)
STAGES = st.sampled_from(Stage)
COMMANDED = {
    (Happening.DOOR_OPENED, Stage.RESERVED): Stage.LOADING,
    (Happening.DOOR_CLOSED, Stage.LOADING): Stage.PROTECTED,
    (Happening.DOOR_OPENED, Stage.PROTECTED): Stage.CORRECTING,
    (Happening.DOOR_CLOSED, Stage.CORRECTING): Stage.PROTECTED,
    (Happening.DOOR_OPENED, Stage.READY): Stage.COLLECTING,
    (Happening.DOOR_CLOSED, Stage.COLLECTING): Stage.COOLING,
}


@given(HAPPENINGS, STAGES, st.booleans())
def test_every_report_leads_to_a_step_of_the_table_or_to_none(
    happening: Happening, stage: Stage, commanded: bool
) -> None:
    trigger = trigger_of(happening, stage, commanded=commanded)
    assert trigger is None or (stage, trigger) in TRANSITIONS


@pytest.mark.parametrize("happening", Happening)
@pytest.mark.parametrize("stage", Stage)
def test_a_commanded_report_takes_exactly_the_steps_of_a_door_cycle(happening: Happening, stage: Stage) -> None:
    trigger = trigger_of(happening, stage, commanded=True)
    after = step(stage, trigger).stage if trigger else None
    if happening is Happening.LOCK_FAILED:
        assert after == (Stage.FAULT_HELD if (stage, Trigger.FAULT) in TRANSITIONS else None)
    else:
        assert after == COMMANDED.get((happening, stage))


@given(STAGES | st.none())
def test_a_door_that_opens_uncommanded_never_leaves_a_compartment_available(stage: Stage | None) -> None:
    if leaves_doubt(Happening.DOOR_OPENED, stage, commanded=False):
        return
    assert stage is not None
    trigger = trigger_of(Happening.DOOR_OPENED, stage, commanded=False)
    after = step(stage, trigger).stage if trigger else stage
    assert FACES[after].compartment_state is CompartmentState.AWAITING_REMOVAL


@given(histories(), HAPPENINGS, st.booleans())
def test_wherever_a_shipment_is_no_report_frees_its_compartment(
    history: list[Trigger], happening: Happening, commanded: bool
) -> None:
    stage = None
    for trigger in history:
        stage = step(stage, trigger).stage
    assert stage is not None
    meant = trigger_of(happening, stage, commanded=commanded)
    if meant is not None:
        assert FACES[step(stage, meant).stage].compartment_state is not CompartmentState.AVAILABLE


@given(HAPPENINGS, STAGES | st.none(), st.booleans())
def test_only_an_opened_door_leaves_doubt(happening: Happening, stage: Stage | None, commanded: bool) -> None:
    if leaves_doubt(happening, stage, commanded=commanded):
        assert happening is Happening.DOOR_OPENED
        assert not commanded


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
