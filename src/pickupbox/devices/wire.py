"""The wire: every topic and message between a box and the service. Pure, and the same code on both sides.

A message is one JSON object. Fields that are not known are tolerated, so that either side can be newer; a kind that is
not known is refused, so that nobody waits for what will not happen. `docs/wire.md` is written from this file.
"""

import json
import re
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from types import NoneType
from typing import Any, ClassVar, get_args, get_type_hints

from pickupbox.devices.values import FORMS, parse, read
from pickupbox.devices.values import WireError as WireError
from pickupbox.domain.doors import Happening as Happening
from pickupbox.domain.doors import Purpose as Purpose
from pickupbox.domain.doors import Verdict as Verdict
from pickupbox.domain.identifiers import DEVICE_PATTERN as DEVICE_PATTERN

VERSION = 1
PREFIX = f"pickupbox/v{VERSION}"
MESSAGE_BYTES = 8 * 1024


class Direction(StrEnum):
    UP = "up"  # from the box
    DOWN = "down"  # to the box


class UnknownKindError(WireError):
    """A message of a kind that this side does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What every message has: its own id, and the sender's clock when it was written."""

    direction: ClassVar[Direction]
    kind: ClassVar[str]
    least: ClassVar[int] = 0  # for its numbers

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence(Message):
    """Retained. `online` is false as last will, sent by the broker when the box is cut off."""

    direction = Direction.UP
    kind = "presence"

    online: bool


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
    """The journal is committed up to and including `seq`. `at` is also how the box knows the service's clock."""

    direction = Direction.DOWN
    kind = "ack"

    boot: str
    seq: int
    about: str  # the id of the message that was answered: its round trip bounds how old `at` is


@dataclass(frozen=True, slots=True, kw_only=True)
class Resend(Message):
    """There is a gap: send again everything after `seq`, in order."""

    direction = Direction.DOWN
    kind = "resend"

    boot: str
    seq: int


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
    RenewalAsked,
    RefusedByBox,
    Open,
    PinAnswer,
    Ack,
    Resend,
    Certificate,
    RefusedByService,
)
_BY_TOPIC = {(message.direction, message.kind): message for message in MESSAGES}
_KIND = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def topic(device: str, message: type[Message]) -> str:
    return f"{PREFIX}/{device}/{message.direction}/{message.kind}"


def topics_of(device: str, direction: Direction) -> str:
    """The filter for all that goes one way between one box and the service."""
    return f"{PREFIX}/{device}/{direction}/+"


def read_topic(text: str) -> tuple[str, Direction, str]:
    """Device, direction and kind of a topic; raises WireError if it is none of ours."""
    parts = text.split("/")
    if len(parts) != 5 or "/".join(parts[:2]) != PREFIX or parts[3] not in set(Direction):
        raise WireError(f"not a topic of {PREFIX}")
    if re.fullmatch(DEVICE_PATTERN, parts[2]) is None:
        raise WireError("not a device")
    if _KIND.fullmatch(parts[4]) is None:
        raise WireError("not a kind")
    return parts[2], Direction(parts[3]), parts[4]


def encode(message: Message) -> bytes:
    """The message as bytes; what is None is left out. Raises WireError if the other side could not read it."""
    written = {each.name: getattr(message, each.name) for each in fields(message)}
    text = json.dumps(
        {name: _plain(value) for name, value in written.items() if value is not None},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    try:
        payload = text.encode()
    except UnicodeEncodeError:
        raise WireError("not a text in UTF-8") from None
    if len(payload) > MESSAGE_BYTES:
        raise WireError(f"longer than {MESSAGE_BYTES} bytes")
    return payload


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise WireError("a time without its zone")
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value


def decode(direction: Direction, kind: str, payload: bytes) -> Message:
    """The message in the payload; raises WireError with the reason if there is none that can be taken."""
    message = _BY_TOPIC.get((direction, kind))
    if message is None:
        raise UnknownKindError(f"unknown kind {kind[:64]!r}")
    if len(payload) > MESSAGE_BYTES:
        raise WireError(f"longer than {MESSAGE_BYTES} bytes")
    given = parse(payload)
    values: dict[str, Any] = {}
    for name, kind_of in hints_of(message).items():
        if given.get(name) is not None:
            values[name] = read(name, kind_of, given[name], message.least)
        elif NoneType not in get_args(kind_of):
            raise WireError(f"{name} is missing")
    return message(**values)


def id_of(payload: bytes) -> str | None:
    """The id of a message that could not be taken, if it has a readable one: for the refusal."""
    try:
        found = json.loads(payload[:MESSAGE_BYTES])["id"]
        return found if isinstance(found, str) and FORMS["id"].fullmatch(found) else None
    except (ValueError, RecursionError, KeyError, TypeError):
        return None


_HINTS: dict[type[Message], dict[str, Any]] = {}


def hints_of(message: type[Message]) -> dict[str, Any]:
    known = _HINTS.get(message)
    if known is None:
        named = {each.name for each in fields(message)}
        known = _HINTS[message] = {name: hint for name, hint in get_type_hints(message).items() if name in named}
    return known


def place_of(payload: bytes) -> tuple[str, int] | None:
    """Journal and number of an entry that could not be taken, if they can be read: so that the journal goes on."""
    try:
        given = json.loads(payload[:MESSAGE_BYTES])
        boot, seq = given["boot"], given["seq"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    readable = isinstance(boot, str) and FORMS["boot"].fullmatch(boot) and type(seq) is int and 1 <= seq < 2**53
    return (boot, seq) if readable else None
