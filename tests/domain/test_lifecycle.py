"""The lifecycle table against an expectation of its own, written down from the contract and the design."""

from itertools import product

import pytest

from pickupbox.domain.lifecycle import (
    FACES,
    TRANSITIONS,
    CompartmentState,
    Event,
    NotInTableError,
    Stage,
    Status,
    Trigger,
    is_released,
    replay,
    step,
)
from pickupbox.usecases.simulate import TRIGGERS, SandboxEvent

# stage, status, compartment state, pickup enabled
PUBLIC = """
reserved        reserved   reserved          no
loading         reserved   reserved          no
protected       loaded     occupied          no
correcting      loaded     occupied          no
ready           loaded     occupied          yes
collecting      loaded     occupied          yes
cooling         picked_up  cooldown          no
collected       picked_up  available         no
cancelled_held  cancelled  awaiting_removal  no
expired_held    expired    awaiting_removal  no
fault_held      fault      awaiting_removal  no
cancelled       cancelled  available         no
expired         expired    available         no
fault           fault      available         no
"""

# from, trigger, to, then each event in order as event=status/compartment state
STEPS = """
nothing         reserve           reserved        reserved=reserved/reserved
reserved        door_opened       loading
reserved        load              protected
reserved        cancel            cancelled       cancelled=cancelled/available door_available=cancelled/available
reserved        expire            expired         expired=expired/available door_available=expired/available
reserved        fault             fault_held      fault=fault/awaiting_removal
loading         door_closed       protected
loading         load              protected
loading         cancel            cancelled_held  cancelled=cancelled/awaiting_removal
loading         expire            expired_held    expired=expired/awaiting_removal
loading         fault             fault_held      fault=fault/awaiting_removal
protected       door_opened       correcting
protected       protection_ended  ready           loaded=loaded/occupied
protected       pick_up           cooling         loaded=loaded/occupied picked_up=picked_up/cooldown
protected       cancel            cancelled_held  cancelled=cancelled/awaiting_removal
protected       expire            expired_held    expired=expired/awaiting_removal
protected       fault             fault_held      fault=fault/awaiting_removal
correcting      door_closed       protected
correcting      pick_up           cooling         loaded=loaded/occupied picked_up=picked_up/cooldown
correcting      cancel            cancelled_held  cancelled=cancelled/awaiting_removal
correcting      expire            expired_held    expired=expired/awaiting_removal
correcting      fault             fault_held      fault=fault/awaiting_removal
ready           door_opened       collecting
ready           pick_up           cooling         picked_up=picked_up/cooldown
ready           cancel            cancelled_held  cancelled=cancelled/awaiting_removal
ready           expire            expired_held    expired=expired/awaiting_removal
ready           fault             fault_held      fault=fault/awaiting_removal
collecting      door_closed       cooling         picked_up=picked_up/cooldown
collecting      pick_up           cooling         picked_up=picked_up/cooldown
collecting      cancel            cancelled_held  cancelled=cancelled/awaiting_removal
collecting      expire            expired_held    expired=expired/awaiting_removal
collecting      fault             fault_held      fault=fault/awaiting_removal
cooling         release           collected       door_available=picked_up/available
cancelled_held  remove            cancelled       removed=cancelled/awaiting_removal door_available=cancelled/available
expired_held    remove            expired         removed=expired/awaiting_removal door_available=expired/available
fault_held      remove            fault           removed=fault/awaiting_removal door_available=fault/available
"""

# The contract's table of simulated events: which (status, compartment state) each may start from.
STARTS = {
    SandboxEvent.LOADED: lambda status, state: (status, state) == ("reserved", "reserved"),
    SandboxEvent.PICKED_UP: lambda status, state: (status, state) == ("loaded", "occupied"),
    SandboxEvent.DOOR_AVAILABLE: lambda status, state: state == "cooldown",
    SandboxEvent.EXPIRED: lambda status, state: status in ("reserved", "loaded"),
    SandboxEvent.FAULT: lambda status, state: status in ("reserved", "loaded"),
    SandboxEvent.REMOVED: lambda status, state: (
        status in ("cancelled", "expired", "fault") and state == "awaiting_removal"
    ),
}


def expected_steps() -> dict[tuple[str, str], tuple[str, list[str]]]:
    lines = [line.split() for line in STEPS.strip().splitlines()]
    return {(stage, trigger): (after, events) for stage, trigger, after, *events in lines}


def name_of(stage: Stage | None) -> str:
    return stage.value if stage else "nothing"


def test_every_stage_shows_the_face_of_the_design() -> None:
    shown = {
        (s.value, f.status.value, f.compartment_state.value, "yes" if f.pickup_enabled else "no")
        for s, f in FACES.items()
    }
    assert shown == {tuple(line.split()) for line in PUBLIC.strip().splitlines()}
    assert set(FACES) == set(Stage)


@pytest.mark.parametrize(("stage", "trigger"), list(product([None, *Stage], Trigger)))
def test_every_trigger_at_every_stage_is_the_expected_step_or_refused(stage: Stage | None, trigger: Trigger) -> None:
    expected = expected_steps().get((name_of(stage), trigger.value))
    if expected is None:
        with pytest.raises(NotInTableError, match=f"{trigger.value} at {name_of(stage)} is not in"):
            step(stage, trigger)
        return
    taken = step(stage, trigger)
    told = [
        f"{e.event.value}={FACES[e.stage].status.value}/{FACES[e.stage].compartment_state.value}" for e in taken.emits
    ]
    assert (taken.stage.value, told) == expected


def test_the_expectation_names_only_what_exists() -> None:
    """A slip of the pen above must not pass as a step that is refused."""
    for (stage, trigger), (after, _) in expected_steps().items():
        assert stage == "nothing" or Stage(stage)
        assert Trigger(trigger)
        assert Stage(after)
    assert len(expected_steps()) == len(STEPS.strip().splitlines()) == len(TRANSITIONS)


def test_every_stage_can_be_reached_from_a_reservation() -> None:
    reached: set[Stage | None] = {None}
    while True:
        further = {taken.stage for (stage, _), taken in TRANSITIONS.items() if stage in reached} - reached
        if not further:
            break
        reached |= further
    assert reached == {None, *Stage}


def test_only_a_released_stage_has_no_way_on() -> None:
    ends = {stage for stage in Stage if not any(at == stage for at, _ in TRANSITIONS)}
    assert ends == {stage for stage in Stage if is_released(stage)}
    assert ends == {Stage.COLLECTED, Stage.CANCELLED, Stage.EXPIRED, Stage.FAULT}


@pytest.mark.parametrize(("stage", "event"), list(product(Stage, SandboxEvent)))
def test_a_simulated_event_fits_exactly_the_starting_states_of_the_contract(stage: Stage, event: SandboxEvent) -> None:
    fits = STARTS[event](FACES[stage].status.value, FACES[stage].compartment_state.value)
    assert ((stage, TRIGGERS[event]) in TRANSITIONS) == fits


@pytest.mark.parametrize("stage", Stage)
def test_exactly_a_reserved_or_loaded_shipment_can_be_cancelled(stage: Stage) -> None:
    assert ((stage, Trigger.CANCEL) in TRANSITIONS) == (FACES[stage].status.value in ("reserved", "loaded"))


def test_the_public_words_are_those_of_the_contract() -> None:
    assert " ".join(Status) == "reserved loaded picked_up cancelled expired fault"
    assert " ".join(CompartmentState) == "reserved occupied awaiting_removal cooldown available"
    assert " ".join(Event) == "reserved loaded picked_up expired cancelled fault removed door_available"
    assert set(SandboxEvent) == {"loaded", "picked_up", "door_available", "expired", "fault", "removed"}


def test_a_replay_takes_the_steps_of_its_trail_and_stops_at_the_first_illegal_one() -> None:
    trail = [Trigger.RESERVE, Trigger.LOAD, Trigger.PROTECTION_ENDED]
    assert [taken.stage for taken in replay(trail)] == [Stage.RESERVED, Stage.PROTECTED, Stage.READY]
    with pytest.raises(NotInTableError, match="load at ready"):
        replay([*trail, Trigger.LOAD])
    with pytest.raises(NotInTableError, match="load at nothing"):
        replay([Trigger.LOAD])
