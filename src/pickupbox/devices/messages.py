"""Every message between a box and the service, typed. Pure, and the same code on both sides; `wire.py` carries them."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from pickupbox.domain.doors import Happening, Purpose, Simulation, Verdict


class Direction(StrEnum):
    UP = "up"  # from the box
    DOWN = "down"  # to the box


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What every message has: its own id, and the sender's clock when it was written."""

    direction: ClassVar[Direction]
    kind: ClassVar[str]
    least: ClassVar[int] = 0  # for its numbers
    qos: ClassVar[int] = 1

    id: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Journaled(Message):
    """An entry of the box's journal. `boot` names the journal, `seq` counts in it without a gap, from 1.

    The box keeps the entry until an `ack` names its number or a later one.
    """

    direction = Direction.UP
    kind = "event"
    least = 1

    boot: str
    seq: int
    happening: Happening
    compartment: str | None = None
    command: str | None = None  # the id of the command that it follows from; none: nobody commanded it
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PinEntered(Message):
    """A PIN was typed. It is not journaled: an answer that comes late opens nothing."""

    direction = Direction.UP
    kind = "pin"

    pin: str = field(repr=False)  # so that it ends in no log
    compartment: str | None = None  # typed as well, when the box asks for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat(Message):
    """The box lives: where its journal stands, and which doors are open."""

    direction = Direction.UP
    kind = "heartbeat"

    boot: str
    seq: int  # the last number written, 0 if none
    open_doors: list[str]
    software: str
    roster: int | None = None  # the version that the box holds, 0 if none yet; none: it never opens by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence(Message):
    """Retained. `online` is false as last will, sent by the broker when the box is cut off."""

    direction = Direction.UP
    kind = "presence"

    online: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RosterTaken(Message):
    """The box holds this roster, on its disk; no grant of an earlier one counts any more."""

    direction = Direction.UP
    kind = "roster"
    least = 1

    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalAsked(Message):
    """The box asks for a new certificate before its own ends."""

    direction = Direction.UP
    kind = "renewal"

    request: str  # a PKCS #10 request, PEM


@dataclass(frozen=True, slots=True, kw_only=True)
class Open(Message):
    """Open a door. After `expires_at` (the service's clock) the box refuses: nobody stands there any more.

    One that is about a PIN is refused (`not_awaited`) if the box no longer waits for that PIN's answer: a PIN that was
    long under way, or came twice, must not open a door before which nobody stands.
    """

    direction = Direction.DOWN
    kind = "open"

    compartment: str
    purpose: Purpose
    expires_at: datetime
    about: str | None = None  # the id of the PinEntered that asked for it; none: an operator did


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated(Message):
    """Sandbox only: an event was simulated, and virtual doors follow. A box with real doors refuses it.

    The service has taken the step already, so the box reports nothing of it. Of two for one compartment the one with
    the later `at` counts.
    """

    direction = Direction.DOWN
    kind = "simulated"

    compartment: str
    simulation: Simulation


@dataclass(frozen=True, slots=True, kw_only=True)
class PinAnswer(Message):
    """What became of a PIN that was typed."""

    direction = Direction.DOWN
    kind = "pin_answer"

    about: str  # the id of the PinEntered
    verdict: Verdict
    compartment: str | None = None
    closed_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ack(Message):
    """The journal is committed up to and including `seq`. `at` is also how the box knows the service's clock.

    QoS 0, because one that is lost is made up for: a later one says more, and a box that hears none asks.
    """

    direction = Direction.DOWN
    kind = "ack"
    qos = 0

    boot: str
    seq: int
    about: str  # the id of the message that was answered: its round trip bounds how old `at` is
    environment: str | None = None  # the service's, in answer to a heartbeat; text: a third one must refuse no ack
    roster: int | None = None  # by which the box may open for 15 minutes more, from when it sent the heartbeat


@dataclass(frozen=True, slots=True, kw_only=True)
class Resend(Message):
    """There is a gap: send again everything after `seq`, in order."""

    direction = Direction.DOWN
    kind = "resend"

    boot: str
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster(Message):
    """Which PINs the box may open for by itself while the service is out of reach; see `domain/grants.py`.

    It takes the place of the one before, as a whole, once all its parts are there.
    """

    direction = Direction.DOWN
    kind = "roster"
    least = 1

    version: int
    part: int  # from 1
    parts: int
    key: str = field(repr=False)  # of the verifiers, in hexadecimal digits
    grants: list[str] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate(Message):
    """A new certificate for the box, in answer to a RenewalAsked."""

    direction = Direction.DOWN
    kind = "certificate"

    about: str
    chain: str  # PEM, the box's own first


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedByBox(Message):
    """The box could not take a message, and why."""

    direction = Direction.UP
    kind = "refusal"

    reason: str
    about: str | None = None  # the id of the message, if it had a readable one


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedByService(Message):
    """The service could not take a message, and why."""

    direction = Direction.DOWN
    kind = "refusal"

    reason: str
    about: str | None = None  # the id of the message, if it had a readable one


MESSAGES: tuple[type[Message], ...] = (
    Journaled,
    PinEntered,
    Heartbeat,
    Presence,
    RosterTaken,
    RenewalAsked,
    RefusedByBox,
    Open,
    Simulated,
    PinAnswer,
    Ack,
    Resend,
    Roster,
    Certificate,
    RefusedByService,
)
