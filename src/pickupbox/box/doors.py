"""One door: what the sensor reads and what is commanded become happenings. Pure: time is an argument.

    closed ──command──▶ releasing ──sensor: open──▶ open ──sensor: closed──▶ closed
      │                     └──3 tries of 3 s──▶ closed (lock_failed)    ▲
      └──sensor: open, nobody commanded──────────▶ open ─────────────────┘

`unlocked` says that the board took the release, once per command: from then on the door may have been opened, whatever
the sensor says. `lock_failed` without it says that the lock was never released.

A step gives a new door and what follows from it. The caller writes both down before it acts: if that fails, the old
door stands and the next reading says the same again.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from pickupbox.domain.doors import Happening

DEBOUNCE_SECONDS = 0.15  # three looks say the same
TRY_SECONDS = 3.0
TRIES = 3


class DoorState(StrEnum):
    CLOSED = "closed"
    RELEASING = "releasing"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Happened:
    """What goes into the journal."""

    happening: Happening
    compartment: str | None = None
    command: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Door:
    compartment: str
    state: DoorState = DoorState.CLOSED
    command: str | None = None  # the command that it is releasing or open for
    tries: int = 0
    released: bool = False  # the board took a release for this command
    try_ends: float = 0.0
    contrary_since: float | None = None  # since when the sensor says the other than the state


@dataclass(frozen=True, slots=True)
class Step:
    door: Door
    happened: tuple[Happened, ...] = ()
    release: bool = False  # now the driver is to release the lock


def commanded(door: Door, command: str, now: float) -> Step:
    """A command to open. A door that is open or opening refuses: an opening belongs to one command."""
    if door.state is DoorState.OPEN:
        return refused(door, command, "door_open")
    if door.state is DoorState.RELEASING:
        return refused(door, command, "door_opening")
    opening = replace(
        door, state=DoorState.RELEASING, command=command, tries=1, released=False, try_ends=now + TRY_SECONDS
    )
    return Step(opening, release=True)


def refused(door: Door, command: str, reason: str) -> Step:
    return Step(door, (Happened(Happening.COMMAND_REFUSED, door.compartment, command, reason),))


def released(door: Door) -> Step:
    """The board took the release."""
    if door.state is not DoorState.RELEASING or door.released:
        return Step(door)
    return Step(replace(door, released=True), (Happened(Happening.UNLOCKED, door.compartment, door.command),))


def rests(door: Door, is_open: bool | None) -> bool:  # noqa: FBT001 - what the sensor says
    """Whether this reading changes nothing, as nearly all do."""
    expected = is_open is (door.state is DoorState.OPEN)
    return expected and door.contrary_since is None and door.state is not DoorState.RELEASING


def looked(door: Door, is_open: bool | None, now: float) -> Step:  # noqa: FBT001 - what the sensor says
    """A reading of the sensor; None: the board did not answer."""
    if is_open is not None and is_open != (door.state is DoorState.OPEN):
        since = now if door.contrary_since is None else door.contrary_since
        if now - since >= DEBOUNCE_SECONDS:
            return _swung(door)
        return Step(replace(door, contrary_since=since))
    if is_open is not None and door.contrary_since is not None:
        door = replace(door, contrary_since=None)
    return _waited(door, now) if door.state is DoorState.RELEASING else Step(door)


def _swung(door: Door) -> Step:
    if door.state is DoorState.OPEN:
        closed = Happened(Happening.DOOR_CLOSED, door.compartment, door.command)
        return Step(Door(door.compartment), (closed,))
    opened = Happened(Happening.DOOR_OPENED, door.compartment, door.command)
    return Step(Door(door.compartment, DoorState.OPEN, door.command), (opened,))


def _waited(door: Door, now: float) -> Step:
    if now < door.try_ends:
        return Step(door)
    # Long after the time of this try, the board stood still meanwhile: who asked for it may be gone.
    if door.tries < TRIES and now < door.try_ends + TRY_SECONDS:
        return Step(replace(door, tries=door.tries + 1, try_ends=now + TRY_SECONDS), release=True)
    return _failed(door, "did_not_open" if door.released else "no_answer")


def _failed(door: Door, reason: str) -> Step:
    return Step(
        Door(door.compartment, contrary_since=door.contrary_since),
        (Happened(Happening.LOCK_FAILED, door.compartment, door.command, reason),),
    )


def restarted(door: Door, is_open: bool | None) -> Step:  # noqa: FBT001 - what the sensor says
    """The first reading after a start. `door` is what was written down before the power went.

    A door that was being opened and is closed now may have been open meanwhile: that is a failure, and somebody looks.
    No lock is released: who asked for it may be gone.
    """
    if door.state is DoorState.RELEASING and not is_open:
        return _failed(door, "restarted")
    if is_open is not None and is_open != (door.state is DoorState.OPEN):
        return _swung(door)
    return Step(door)
