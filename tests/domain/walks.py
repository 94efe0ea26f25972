"""Walks through the lifecycle table: any history that it allows, and what each of its steps did."""

from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import strategies as st

from pickupbox.domain.lifecycle import FACES, TRANSITIONS, CompartmentState, Event, Face, Stage, Trigger, step


@dataclass(frozen=True, slots=True)
class Walked:
    """One step of a history, with the faces that the public saw before and after it."""

    before: Stage | None
    trigger: Trigger
    after: Stage
    emitted: tuple[Event, ...]
    shown: tuple[Face, ...]

    @property
    def freed(self) -> bool:
        held = self.before is not None and FACES[self.before].compartment_state is not CompartmentState.AVAILABLE
        return held and FACES[self.after].compartment_state is CompartmentState.AVAILABLE


def triggers_at(stage: Stage | None) -> list[Trigger]:
    return [trigger for at, trigger in TRANSITIONS if at == stage]


@st.composite
def histories(draw: st.DrawFn, longest: int = 14) -> list[Trigger]:
    """A legal history from its reservation to anywhere. Doors open and close often, so that walks are long."""
    stage: Stage | None = None
    history: list[Trigger] = []
    for _ in range(draw(st.integers(1, longest))):
        possible = triggers_at(stage)
        if not possible:
            break
        doors = [trigger for trigger in possible if trigger in (Trigger.DOOR_OPENED, Trigger.DOOR_CLOSED)]
        history.append(draw(st.sampled_from(possible + doors)))
        stage = step(stage, history[-1]).stage
    return history


def walk(history: list[Trigger]) -> Iterator[Walked]:
    stage: Stage | None = None
    for trigger in history:
        taken = step(stage, trigger)
        yield Walked(
            stage,
            trigger,
            taken.stage,
            tuple(emission.event for emission in taken.emits),
            tuple(FACES[emission.stage] for emission in taken.emits),
        )
        stage = taken.stage


def told(history: list[Trigger]) -> list[tuple[int, int, str, str, str]]:
    """The event rows of a history as the database holds them."""
    rows: list[tuple[int, int, str, str, str]] = []
    for number, walked in enumerate(walk(history), start=1):
        for event, face in zip(walked.emitted, walked.shown, strict=True):
            rows.append((len(rows) + 1, number, event.value, face.status.value, face.compartment_state.value))
    return rows
