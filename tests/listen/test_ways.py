"""The way to an event, from every face that a shipment can show."""

from itertools import product

import pytest

from pickupbox.desk.ways import ACTS, CANCEL, WAIT, stages_of, told_between, way_to
from pickupbox.domain.lifecycle import FACES, TRANSITIONS, Event, Face, Stage, Trigger
from pickupbox.usecases.simulate import TRIGGERS

RESERVED = FACES[Stage.RESERVED]


@pytest.mark.parametrize(
    ("event", "way"),
    [
        (Event.LOADED, ["loaded", WAIT]),
        (Event.PICKED_UP, ["loaded", "picked_up"]),
        (Event.EXPIRED, ["expired"]),
        (Event.CANCELLED, [CANCEL]),
        (Event.FAULT, ["fault"]),
        (Event.REMOVED, ["fault", "removed"]),
        (Event.DOOR_AVAILABLE, [CANCEL]),
        (Event.RESERVED, None),
    ],
)
def test_the_way_from_a_reservation_is_the_shortest(event: Event, way: list[str] | None) -> None:
    assert way_to(event, RESERVED) == way


def test_whatever_holds_a_compartment_can_be_brought_to_release_it() -> None:
    for face in FACES.values():
        way = way_to(Event.DOOR_AVAILABLE, face)
        assert (way is None) == (face.compartment_state == "available"), face


def test_the_acts_are_those_of_the_sandbox_with_cancel_and_waiting() -> None:
    simulated = {trigger: str(event) for event, trigger in TRIGGERS.items()}
    assert simulated | {Trigger.CANCEL: CANCEL, Trigger.PROTECTION_ENDED: WAIT} == ACTS


@pytest.mark.parametrize("face", dict.fromkeys(FACES.values()), ids=str)
def test_a_way_leads_where_it_says(face: Face) -> None:
    for event in Event:
        stage, emitted = stages_of(face)[0], []
        for act in way_to(event, face) or []:
            (trigger,) = (trigger for trigger, name in ACTS.items() if name == act)
            step = TRANSITIONS[stage, trigger]
            assert told_between(FACES[stage], act, FACES[step.stage]) == [one.event for one in step.emits]
            emitted += [one.event for one in step.emits]
            stage = step.stage
        assert emitted == [] or event in emitted


def test_no_way_is_longer_than_it_must_be() -> None:
    triggers = list(ACTS)
    for face, event in product(FACES.values(), Event):
        way = way_to(event, face)
        for length in range(1, len(way or [])):
            for shorter in product(triggers, repeat=length):
                assert event not in told_by(stages_of(face)[0], shorter), (face, event, way, shorter)


def told_by(stage: Stage, triggers: tuple[Trigger, ...]) -> list[Event]:
    told: list[Event] = []
    for trigger in triggers:
        if (stage, trigger) not in TRANSITIONS:
            return told
        step = TRANSITIONS[stage, trigger]
        told += [one.event for one in step.emits]
        stage = step.stage
    return told


def test_behind_an_open_door_the_same_act_leads_elsewhere_and_that_is_seen() -> None:
    assert stages_of(RESERVED) == [Stage.RESERVED, Stage.LOADING]
    assert told_between(RESERVED, CANCEL, FACES[Stage.CANCELLED]) == [Event.CANCELLED, Event.DOOR_AVAILABLE]
    assert told_between(RESERVED, CANCEL, FACES[Stage.CANCELLED_HELD]) == [Event.CANCELLED]
    assert told_between(RESERVED, "fault", FACES[Stage.READY]) == []
