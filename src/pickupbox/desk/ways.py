"""The way to an event: what must happen to a shipment until the shop is told it, found in the lifecycle table. Pure."""

from collections import deque

from pickupbox.domain.lifecycle import FACES, TRANSITIONS, Event, Face, Stage, Trigger

# What can be made to happen over the public API, in the order of preference where two ways are equally short.
# The end of protection is not made to happen but waited for.
ACTS: dict[Trigger, str] = {
    Trigger.LOAD: "loaded",
    Trigger.PROTECTION_ENDED: "wait",
    Trigger.PICK_UP: "picked_up",
    Trigger.RELEASE: "door_available",
    Trigger.CANCEL: "cancel",
    Trigger.FAULT: "fault",
    Trigger.REMOVE: "removed",
    Trigger.EXPIRE: "expired",
}
_TRIGGERS = {act: trigger for trigger, act in ACTS.items()}
_CLOSES = Trigger.DOOR_CLOSED
WAIT, CANCEL = ACTS[Trigger.PROTECTION_ENDED], ACTS[Trigger.CANCEL]


def stages_of(face: Face) -> list[Stage]:
    """The stages that show this face, those with an open door last: they are rarer."""
    return sorted((stage for stage in Stage if FACES[stage] == face), key=lambda stage: (stage, _CLOSES) in TRANSITIONS)


def way_to(event: Event, face: Face) -> list[str] | None:
    """The fewest acts after which the event is told, from a shipment that shows this face; None if there is no way."""
    ways: deque[tuple[Stage, list[str]]] = deque((stage, []) for stage in stages_of(face)[:1])
    seen = {stage for stage, _ in ways}
    while ways:
        at, acts = ways.popleft()
        for trigger, act in ACTS.items():
            step = TRANSITIONS.get((at, trigger))
            if step is None:
                continue
            if event in [emission.event for emission in step.emits]:
                return [*acts, act]
            if step.stage not in seen:
                seen.add(step.stage)
                ways.append((step.stage, [*acts, act]))
    return None


def told_between(before: Face, act: str, after: Face) -> list[Event]:
    """What the shop was told when the act led from one face to the other."""
    steps = (TRANSITIONS.get((stage, _TRIGGERS[act])) for stage in stages_of(before))
    taken = next((step for step in steps if step is not None and FACES[step.stage] == after), None)
    return [] if taken is None else [emission.event for emission in taken.emits]
