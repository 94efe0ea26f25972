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


class Simulation(StrEnum):
    """What a simulated event of the sandbox does to a virtual compartment."""

    FILL = "fill"
    EMPTY = "empty"


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
# What a box may be granted to do by itself for a shipment, while the service is out of reach.
GRANTS = {stage: Purpose.LOAD if purpose is Purpose.LOAD else Purpose.PICK_UP for stage, purpose in PURPOSES.items()}
SIMULATIONS = {
    Trigger.LOAD: Simulation.FILL,
    Trigger.PICK_UP: Simulation.EMPTY,
    Trigger.REMOVE: Simulation.EMPTY,
}
_TRIGGERS = {
    Happening.DOOR_OPENED: Trigger.DOOR_OPENED,
    Happening.DOOR_CLOSED: Trigger.DOOR_CLOSED,
    Happening.LOCK_FAILED: Trigger.FAULT,
}


def triggers_of(happening: Happening, stage: Stage, purpose: Purpose | None) -> tuple[Trigger, ...]:
    """What a report means for the shipment that holds the compartment, step after step; mostly one, or none.

    `purpose` is for what the door was opened for this very shipment; None: nobody did. A door that opened and that
    nobody commanded for this shipment is a fault: what lies behind it is not known. Reports may come late, so what the
    door was opened for counts, not only when: who loaded or corrected has not collected, though the shipment is ready
    by now; and who collected did so after the protection, though nobody has taken that step yet.
    """
    opened = happening is Happening.DOOR_OPENED
    if opened and stage is Stage.READY and purpose in (Purpose.LOAD, Purpose.CORRECT):
        return ()
    if opened and stage is Stage.PROTECTED and purpose is Purpose.PICK_UP:
        return Trigger.PROTECTION_ENDED, Trigger.DOOR_OPENED
    trigger = Trigger.FAULT if opened and purpose is None else _TRIGGERS.get(happening)
    return (trigger,) if trigger is not None and (stage, trigger) in TRANSITIONS else ()


def leaves_doubt(happening: Happening, stage: Stage | None, *, commanded: bool) -> bool:
    """Whether the compartment must not be offered again before a person has looked.

    So it is when a door opened that nobody commanded, or once more after the pickup, or a lock failed (after a power
    cut nobody knows whether it had opened), and no shipment holds the compartment that could be faulted. One that
    awaits removal is looked into anyway.
    """
    expected = commanded and (stage, Trigger.DOOR_OPENED) in TRANSITIONS
    opened = happening is Happening.DOOR_OPENED and not expected
    if not opened and happening is not Happening.LOCK_FAILED:
        return False
    if stage is None:
        return True
    held = FACES[stage].compartment_state is CompartmentState.AWAITING_REMOVAL
    return not held and (stage, Trigger.FAULT) not in TRANSITIONS
