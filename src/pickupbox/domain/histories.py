"""What must hold for every history of a shipment, judged from its trail and the events it told."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from pickupbox.domain.lifecycle import (
    FACES,
    CompartmentState,
    Event,
    NotInTableError,
    Stage,
    Status,
    Trigger,
    replay,
)

type Told = tuple[int, int, str, str, str]  # sequence, step, type, status, compartment state

_FINAL = {Status.CANCELLED, Status.EXPIRED, Status.FAULT, Status.PICKED_UP}
# Until `loaded` is told, the shop knows the shipment as reserved.
_NOT_YET_TOLD = {Stage.PROTECTED, Stage.CORRECTING}


def breaches(stage: str, trail: Sequence[str], event_count: int, told: Sequence[Told]) -> Iterator[tuple[int, str]]:
    """Breached invariants with their numbers; none for a legal history."""
    if stage not in Stage:
        yield 4, f"nobody knows the stage {stage}"
        return
    try:
        steps = replay([Trigger(trigger) for trigger in trail])
    except (NotInTableError, ValueError) as error:
        yield 4, str(error)
        return
    if not steps or steps[-1].stage != stage:
        yield 4, f"stage {stage} does not follow from {' '.join(trail)}"
    expected = [
        (number, emission.event, *_public(emission.stage))
        for number, taken in enumerate(steps, start=1)
        for emission in taken.emits
    ]
    if [(step, kind, status, state) for _, step, kind, status, state in told] != expected:
        yield 6, f"events do not follow from {' '.join(trail)}"
    if [sequence for sequence, *_ in told] != list(range(1, event_count + 1)):
        yield 6, "the sequence of events has a gap or a repetition"
    yield from _status_changes(told)
    yield from _releases(stage, told)
    yield from _announced(stage, told)


def _public(stage: Stage) -> tuple[str, str]:
    return FACES[stage].status, FACES[stage].compartment_state


def _status_changes(told: Sequence[Told]) -> Iterator[tuple[int, str]]:
    statuses = [status for *_, status, _ in told]
    for before, after in pairwise(statuses):
        if before in _FINAL and after != before:
            yield 5, f"{before} became {after}"


def _releases(stage: str, told: Sequence[Told]) -> Iterator[tuple[int, str]]:
    kinds = [kind for _, _, kind, _, _ in told]
    released = FACES[Stage(stage)].compartment_state is CompartmentState.AVAILABLE
    if kinds.count(Event.DOOR_AVAILABLE) != released:
        yield 8, f"{kinds.count(Event.DOOR_AVAILABLE)} times door_available at stage {stage}"
    held = any(state == CompartmentState.AWAITING_REMOVAL for *_, state in told)
    if released and held and kinds[-2:] != [Event.REMOVED, Event.DOOR_AVAILABLE]:
        yield 8, "released without removed just before door_available"


def _announced(stage: str, told: Sequence[Told]) -> Iterator[tuple[int, str]]:
    expected = Stage.RESERVED if Stage(stage) in _NOT_YET_TOLD else Stage(stage)
    if not told or told[-1][3:] != _public(expected):
        yield 14, f"the last event does not show {expected}"
