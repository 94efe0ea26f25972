"""What holds for all histories that the lifecycle table allows."""

from itertools import pairwise

from hypothesis import given

from pickupbox.domain.histories import breaches
from pickupbox.domain.lifecycle import FACES, CompartmentState, Event, Stage, Status, Trigger
from pickupbox.domain.pins import can_be_revealed
from tests.domain.walks import histories, told, walk

FINAL = {Status.PICKED_UP, Status.CANCELLED, Status.EXPIRED, Status.FAULT}
DOOR_OPEN = {Stage.LOADING, Stage.CORRECTING, Stage.COLLECTING}
HELD = {Trigger.CANCEL: Stage.CANCELLED_HELD, Trigger.EXPIRE: Stage.EXPIRED_HELD, Trigger.FAULT: Stage.FAULT_HELD}


@given(histories())
def test_a_compartment_is_freed_exactly_when_door_available_is_said(history: list[Trigger]) -> None:
    for step in walk(history):
        assert step.freed == (Event.DOOR_AVAILABLE in step.emitted)


@given(histories())
def test_a_terminal_status_never_changes(history: list[Trigger]) -> None:
    statuses = [FACES[step.after].status for step in walk(history)]
    for before, after in pairwise(statuses):
        assert before not in FINAL or after == before


@given(histories())
def test_loaded_is_told_at_the_end_of_protection_or_just_before_an_early_picked_up(history: list[Trigger]) -> None:
    for step in walk(history):
        if Event.LOADED in step.emitted:
            ended = step.trigger is Trigger.PROTECTION_ENDED and step.emitted == (Event.LOADED,)
            early = step.trigger is Trigger.PICK_UP and step.emitted == (Event.LOADED, Event.PICKED_UP)
            assert step.before in {Stage.PROTECTED, Stage.CORRECTING}
            assert ended or early


@given(histories())
def test_loaded_is_told_once_and_before_picked_up(history: list[Trigger]) -> None:
    events = [event for step in walk(history) for event in step.emitted]
    assert events.count(Event.LOADED) <= 1
    if Event.PICKED_UP in events:
        assert Event.LOADED in events[: events.index(Event.PICKED_UP)]


@given(histories())
def test_pickup_is_enabled_exactly_from_loaded_until_the_next_status(history: list[Trigger]) -> None:
    announced = False
    for step in walk(history):
        announced = announced or Event.LOADED in step.emitted
        assert FACES[step.after].pickup_enabled == (announced and FACES[step.after].status is Status.LOADED)


@given(histories())
def test_a_compartment_is_released_at_most_once_and_nothing_follows(history: list[Trigger]) -> None:
    releases = [number for number, step in enumerate(walk(history), start=1) if step.freed]
    assert releases in ([], [len(history)])


@given(histories())
def test_behind_an_open_door_every_ending_is_held_for_removal(history: list[Trigger]) -> None:
    for step in walk(history):
        if step.before in DOOR_OPEN and step.trigger in HELD:
            assert step.after is HELD[step.trigger]
            assert FACES[step.after].compartment_state is CompartmentState.AWAITING_REMOVAL


@given(histories())
def test_removed_comes_just_before_door_available_wherever_something_may_lie_inside(history: list[Trigger]) -> None:
    may_lie_inside = False
    for step in walk(history):
        may_lie_inside = may_lie_inside or step.trigger in (Trigger.DOOR_OPENED, Trigger.LOAD, Trigger.FAULT)
        if step.freed and FACES[step.after].status is not Status.PICKED_UP:
            removal = (Event.REMOVED, Event.DOOR_AVAILABLE)
            assert (step.emitted == removal) == may_lie_inside


@given(histories())
def test_removed_is_shown_as_awaiting_removal_and_door_available_as_available(history: list[Trigger]) -> None:
    for step in walk(history):
        for event, face in zip(step.emitted, step.shown, strict=True):
            if event is Event.REMOVED:
                assert face.compartment_state is CompartmentState.AWAITING_REMOVAL
            assert (event is not Event.DOOR_AVAILABLE) or face.compartment_state is CompartmentState.AVAILABLE
            if event in (Event.REMOVED, Event.DOOR_AVAILABLE) and step.before is not None:
                assert face.status is FACES[step.before].status or step.before is Stage.RESERVED


@given(histories())
def test_the_last_event_shows_the_current_public_state(history: list[Trigger]) -> None:
    """While `loaded` is held back, the shop still knows the shipment as reserved."""
    *_, last = walk(history)
    shown = [face for step in walk(history) for face in step.shown][-1]
    held_back = last.after in {Stage.PROTECTED, Stage.CORRECTING}
    expected = FACES[Stage.RESERVED if held_back else last.after]
    assert (shown.status, shown.compartment_state) == (expected.status, expected.compartment_state)


@given(histories())
def test_the_pin_can_be_read_exactly_while_reserved_or_loaded(history: list[Trigger]) -> None:
    for step in walk(history):
        assert can_be_revealed(step.after) == (FACES[step.after].status in (Status.RESERVED, Status.LOADED))


@given(histories())
def test_no_legal_history_breaches_an_invariant(history: list[Trigger]) -> None:
    *_, last = walk(history)
    rows = told(history)
    assert list(breaches(last.after.value, [trigger.value for trigger in history], len(rows), rows)) == []
