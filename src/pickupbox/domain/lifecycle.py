"""The heart: which stage follows which trigger, and what the shop is told.

A stage is finer than what the public sees. It fixes the public face (status, compartment state, pickup
enabled), so those three can never contradict each other. Nothing outside this file decides a status.
"""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    RESERVED = "reserved"
    LOADED = "loaded"
    PICKED_UP = "picked_up"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    FAULT = "fault"


class CompartmentState(StrEnum):
    RESERVED = "reserved"
    OCCUPIED = "occupied"
    AWAITING_REMOVAL = "awaiting_removal"
    COOLDOWN = "cooldown"
    AVAILABLE = "available"


class Event(StrEnum):
    RESERVED = "reserved"
    LOADED = "loaded"
    PICKED_UP = "picked_up"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    FAULT = "fault"
    REMOVED = "removed"
    DOOR_AVAILABLE = "door_available"


class Stage(StrEnum):
    RESERVED = "reserved"
    LOADING = "loading"
    PROTECTED = "protected"
    CORRECTING = "correcting"
    READY = "ready"
    COLLECTING = "collecting"
    COOLING = "cooling"
    COLLECTED = "collected"
    CANCELLED_HELD = "cancelled_held"
    EXPIRED_HELD = "expired_held"
    FAULT_HELD = "fault_held"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    FAULT = "fault"


class Trigger(StrEnum):
    RESERVE = "reserve"
    DOOR_OPENED = "door_opened"
    DOOR_CLOSED = "door_closed"
    LOAD = "load"
    PROTECTION_ENDED = "protection_ended"
    PICK_UP = "pick_up"
    RELEASE = "release"
    CANCEL = "cancel"
    EXPIRE = "expire"
    FAULT = "fault"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Face:
    """What the public sees of a stage."""

    status: Status
    compartment_state: CompartmentState
    pickup_enabled: bool = False


FACES: dict[Stage, Face] = {
    Stage.RESERVED: Face(Status.RESERVED, CompartmentState.RESERVED),
    Stage.LOADING: Face(Status.RESERVED, CompartmentState.RESERVED),
    Stage.PROTECTED: Face(Status.LOADED, CompartmentState.OCCUPIED),
    Stage.CORRECTING: Face(Status.LOADED, CompartmentState.OCCUPIED),
    Stage.READY: Face(Status.LOADED, CompartmentState.OCCUPIED, pickup_enabled=True),
    Stage.COLLECTING: Face(Status.LOADED, CompartmentState.OCCUPIED, pickup_enabled=True),
    Stage.COOLING: Face(Status.PICKED_UP, CompartmentState.COOLDOWN),
    Stage.COLLECTED: Face(Status.PICKED_UP, CompartmentState.AVAILABLE),
    Stage.CANCELLED_HELD: Face(Status.CANCELLED, CompartmentState.AWAITING_REMOVAL),
    Stage.EXPIRED_HELD: Face(Status.EXPIRED, CompartmentState.AWAITING_REMOVAL),
    Stage.FAULT_HELD: Face(Status.FAULT, CompartmentState.AWAITING_REMOVAL),
    Stage.CANCELLED: Face(Status.CANCELLED, CompartmentState.AVAILABLE),
    Stage.EXPIRED: Face(Status.EXPIRED, CompartmentState.AVAILABLE),
    Stage.FAULT: Face(Status.FAULT, CompartmentState.AVAILABLE),
}


@dataclass(frozen=True, slots=True)
class Emission:
    """One event to tell, with the stage whose face it shows."""

    event: Event
    stage: Stage


@dataclass(frozen=True, slots=True)
class Step:
    stage: Stage
    emits: tuple[Emission, ...] = ()


def _to(stage: Stage, *events: Event | Emission) -> Step:
    """A step that tells `events`; each shows the stage it leads to, unless it says otherwise."""
    return Step(stage, tuple(e if isinstance(e, Emission) else Emission(e, stage) for e in events))


# `removed` and an early `loaded` are told while the stage before the last is still what the public sees.
_EARLY_LOADED = Emission(Event.LOADED, Stage.READY)
_EARLY_PICKUP = _to(Stage.COOLING, _EARLY_LOADED, Event.PICKED_UP)


def _removal(held: Stage, released: Stage) -> Step:
    return _to(released, Emission(Event.REMOVED, held), Event.DOOR_AVAILABLE)


_CANCEL_HELD = _to(Stage.CANCELLED_HELD, Event.CANCELLED)
_EXPIRE_HELD = _to(Stage.EXPIRED_HELD, Event.EXPIRED)
_FAULT_HELD = _to(Stage.FAULT_HELD, Event.FAULT)

TRANSITIONS: dict[tuple[Stage | None, Trigger], Step] = {
    (None, Trigger.RESERVE): _to(Stage.RESERVED, Event.RESERVED),
    # An empty reservation whose door never opened is the only one released at once.
    (Stage.RESERVED, Trigger.DOOR_OPENED): _to(Stage.LOADING),
    (Stage.RESERVED, Trigger.LOAD): _to(Stage.PROTECTED),
    (Stage.RESERVED, Trigger.CANCEL): _to(Stage.CANCELLED, Event.CANCELLED, Event.DOOR_AVAILABLE),
    (Stage.RESERVED, Trigger.EXPIRE): _to(Stage.EXPIRED, Event.EXPIRED, Event.DOOR_AVAILABLE),
    (Stage.RESERVED, Trigger.FAULT): _FAULT_HELD,
    # Behind an open door nobody knows what lies: every way out but loading is held for removal.
    (Stage.LOADING, Trigger.DOOR_CLOSED): _to(Stage.PROTECTED),
    (Stage.LOADING, Trigger.LOAD): _to(Stage.PROTECTED),
    (Stage.LOADING, Trigger.CANCEL): _CANCEL_HELD,
    (Stage.LOADING, Trigger.EXPIRE): _EXPIRE_HELD,
    (Stage.LOADING, Trigger.FAULT): _FAULT_HELD,
    # Protection: the loader may reopen; the shop hears `loaded` only when it ends with the door closed.
    (Stage.PROTECTED, Trigger.DOOR_OPENED): _to(Stage.CORRECTING),
    (Stage.PROTECTED, Trigger.PROTECTION_ENDED): _to(Stage.READY, Event.LOADED),
    (Stage.PROTECTED, Trigger.PICK_UP): _EARLY_PICKUP,
    (Stage.PROTECTED, Trigger.CANCEL): _CANCEL_HELD,
    (Stage.PROTECTED, Trigger.EXPIRE): _EXPIRE_HELD,
    (Stage.PROTECTED, Trigger.FAULT): _FAULT_HELD,
    (Stage.CORRECTING, Trigger.DOOR_CLOSED): _to(Stage.PROTECTED),
    (Stage.CORRECTING, Trigger.PICK_UP): _EARLY_PICKUP,
    (Stage.CORRECTING, Trigger.CANCEL): _CANCEL_HELD,
    (Stage.CORRECTING, Trigger.EXPIRE): _EXPIRE_HELD,
    (Stage.CORRECTING, Trigger.FAULT): _FAULT_HELD,
    # Pickup: a customer before an open door at the deadline still collects.
    (Stage.READY, Trigger.DOOR_OPENED): _to(Stage.COLLECTING),
    (Stage.READY, Trigger.PICK_UP): _to(Stage.COOLING, Event.PICKED_UP),
    (Stage.READY, Trigger.CANCEL): _CANCEL_HELD,
    (Stage.READY, Trigger.EXPIRE): _EXPIRE_HELD,
    (Stage.READY, Trigger.FAULT): _FAULT_HELD,
    (Stage.COLLECTING, Trigger.DOOR_CLOSED): _to(Stage.COOLING, Event.PICKED_UP),
    (Stage.COLLECTING, Trigger.PICK_UP): _to(Stage.COOLING, Event.PICKED_UP),
    (Stage.COLLECTING, Trigger.CANCEL): _CANCEL_HELD,
    (Stage.COLLECTING, Trigger.EXPIRE): _EXPIRE_HELD,
    (Stage.COLLECTING, Trigger.FAULT): _FAULT_HELD,
    # Release: by the end of cooldown, or by confirmed removal.
    (Stage.COOLING, Trigger.RELEASE): _to(Stage.COLLECTED, Event.DOOR_AVAILABLE),
    (Stage.CANCELLED_HELD, Trigger.REMOVE): _removal(Stage.CANCELLED_HELD, Stage.CANCELLED),
    (Stage.EXPIRED_HELD, Trigger.REMOVE): _removal(Stage.EXPIRED_HELD, Stage.EXPIRED),
    (Stage.FAULT_HELD, Trigger.REMOVE): _removal(Stage.FAULT_HELD, Stage.FAULT),
}


class NotInTableError(Exception):
    """The lifecycle has no step for this trigger at this stage."""

    def __init__(self, stage: Stage | None, trigger: Trigger) -> None:
        super().__init__(f"{trigger} at {stage or 'nothing'} is not in the lifecycle table")


def step(stage: Stage | None, trigger: Trigger) -> Step:
    """The one step that follows `trigger` at `stage`; raises NotInTableError if there is none."""
    try:
        return TRANSITIONS[stage, trigger]
    except KeyError:
        raise NotInTableError(stage, trigger) from None


def is_released(stage: Stage) -> bool:
    """Whether the shipment no longer holds its compartment."""
    return FACES[stage].compartment_state is CompartmentState.AVAILABLE


def replay(trail: list[Trigger]) -> list[Step]:
    """The steps that a trail of triggers took from nothing; raises NotInTableError at the first illegal one."""
    steps: list[Step] = []
    stage: Stage | None = None
    for trigger in trail:
        steps.append(step(stage, trigger))
        stage = steps[-1].stage
    return steps
