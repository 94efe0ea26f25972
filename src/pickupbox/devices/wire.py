"""The wire: topics, and messages as bytes. Pure, and the same code on both sides.

A message is one JSON object. Fields that are not known are tolerated, so that either side can be newer; a kind that is
not known is refused, so that nobody waits for what will not happen. `docs/wire.md` says the same for people.
"""

import json
import re
from dataclasses import fields
from datetime import UTC, datetime
from types import NoneType
from typing import Any, get_args, get_type_hints

from pickupbox.devices.messages import MESSAGES, Direction, Message
from pickupbox.devices.values import FORMS, WireError, parse, read, without_none
from pickupbox.domain.identifiers import DEVICE_PATTERN

VERSION = 1
PREFIX = f"pickupbox/v{VERSION}"
MESSAGE_BYTES = 8 * 1024


class UnknownKindError(WireError):
    """A message of a kind that this side does not know."""


_BY_TOPIC = {(message.direction, message.kind): message for message in MESSAGES}
_DIRECTIONS = {str(direction): direction for direction in Direction}
_DEVICE = re.compile(DEVICE_PATTERN)
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_KIND = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def topic(device: str, message: type[Message]) -> str:
    return f"{PREFIX}/{device}/{message.direction}/{message.kind}"


def topics_of(device: str, direction: Direction) -> str:
    """The filter for all that goes one way between one box and the service."""
    return f"{PREFIX}/{device}/{direction}/+"


def read_topic(text: str) -> tuple[str, Direction, str]:
    """Device, direction and kind of a topic; raises WireError if it is none of ours."""
    parts = text.split("/")
    direction = _DIRECTIONS.get(parts[3]) if len(parts) == 5 else None
    if direction is None or f"{parts[0]}/{parts[1]}" != PREFIX:
        raise WireError(f"not a topic of {PREFIX}")
    if _DEVICE.fullmatch(parts[2]) is None:
        raise WireError("not a device")
    if _KIND.fullmatch(parts[4]) is None:
        raise WireError("not a kind")
    return parts[2], direction, parts[4]


def encode(message: Message) -> bytes:
    """The message as bytes; what is None is left out. Raises WireError if the other side could not read it."""
    written = {name: getattr(message, name) for name in hints_of(type(message))}
    text = _JSON.encode({name: _plain(value) for name, value in written.items() if value is not None})
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
    for name, kind_of, needed in _PLANS[message]:
        if (value := given.get(name)) is not None:
            values[name] = read(name, kind_of, value, message.least)
        elif needed:
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


# Of each message: its fields' names, their types without None, and whether they must be there.
_PLANS = {
    message: [(name, without_none(hint), NoneType not in get_args(hint)) for name, hint in hints_of(message).items()]
    for message in MESSAGES
}


def place_of(payload: bytes) -> tuple[str, int] | None:
    """Journal and number of an entry that could not be taken, if they can be read: so that the journal goes on."""
    try:
        given = json.loads(payload[:MESSAGE_BYTES])
        boot, seq = given["boot"], given["seq"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    readable = isinstance(boot, str) and FORMS["boot"].fullmatch(boot) and type(seq) is int and 1 <= seq < 2**53
    return (boot, seq) if readable else None
