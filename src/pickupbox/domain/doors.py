"""What a box reports, what it is told, and what each report means for the shipment behind the door."""

from enum import StrEnum

from pickupbox.domain.lifecycle import FACES, TRANSITIONS, CompartmentState, Stage, Trigger


class Happening(StrEnum):
    """What a box reports. Each is a fact of its own: a released lock is not an open door."""

    STARTED = "started"
    UNLOCKED = "unlocked"
    DOOR_OPENED = "door_opened"
    DOOR_CLOSED = "door_closed"
    LOCK_FAILED = "lock_failed"
    COMMAND_REFUSED = "command_refused"


class Purpose(StrEnum):
    """Why a door is opened. The box opens for all of them alike; the journal and the audit say which it was."""

    LOAD = "load"
    CORRECT = "correct"
    PICK_UP = "pick_up"
    REMOVE = "remove"


class Verdict(StrEnum):
    """What a keypad shows after a PIN. Wrong, expired and foreign PINs look the same."""

    OPENING = "opening"
    REFUSED = "refused"
    CLOSED = "closed"
    COMPARTMENT_NEEDED = "compartment_needed"


# For what a PIN opens the door, by the stage of its shipment; at any other stage it opens nothing.
PURPOSES = {
    Stage.RESERVED: Purpose.LOAD,
    Stage.LOADING: Purpose.LOAD,
    Stage.PROTECTED: Purpose.CORRECT,
    Stage.CORRECTING: Purpose.CORRECT,
    Stage.READY: Purpose.PICK_UP,
    Stage.COLLECTING: Purpose.PICK_UP,
}
_TRIGGERS = {
    Happening.DOOR_OPENED: Trigger.DOOR_OPENED,
    Happening.DOOR_CLOSED: Trigger.DOOR_CLOSED,
    Happening.LOCK_FAILED: Trigger.FAULT,
}


def trigger_of(happening: Happening, stage: Stage, *, commanded: bool) -> Trigger | None:
    """What a report means for the shipment that holds the compartment; None: nothing.

    A door that opened and that nobody commanded for this shipment is a fault: what lies behind it is not known.
    """
    trigger = _TRIGGERS.get(happening)
    if happening is Happening.DOOR_OPENED and not commanded:
        trigger = Trigger.FAULT
    return trigger if trigger is not None and (stage, trigger) in TRANSITIONS else None


def leaves_doubt(happening: Happening, stage: Stage | None, *, commanded: bool) -> bool:
    """Whether the compartment must not be offered again before a person has looked.

    So it is when a door opened that nobody commanded, and no shipment holds the compartment that could be faulted. One
    that awaits removal is looked into anyway.
    """
    if happening is not Happening.DOOR_OPENED or commanded:
        return False
    if stage is None:
        return True
    held = FACES[stage].compartment_state is CompartmentState.AWAITING_REMOVAL
    return not held and (stage, Trigger.FAULT) not in TRANSITIONS
