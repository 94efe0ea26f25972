"""What a value on the wire may look like, and how it is read. Whatever is given, the answer is a value or a WireError.

The text of a WireError goes back to the sender and into logs: it names fields, and never repeats what was in them.
"""

import json
import re
from datetime import UTC, datetime
from enum import StrEnum
from types import GenericAlias, NoneType, UnionType
from typing import Any, get_args

from pickupbox.domain import grants

TEXT_LENGTH = 4096
ITEMS = 500
NUMBERS_END = 2**53  # beyond it not every JSON reader is exact
# A box without a clock of its own starts in 1970; beyond the end, sums with a time would not be times any more.
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(3000, 1, 1, tzinfo=UTC)
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})")
# What a text must look like beyond being short.
FORMS = {
    "pin": re.compile(r"[0-9]{6}"),
    "id": re.compile(r"[!-~]{1,64}"),
    "about": re.compile(r"[!-~]{1,64}"),
    "boot": re.compile(r"[!-~]{1,64}"),
    "command": re.compile(r"[!-~]{1,64}"),
    "compartment": re.compile(r"[!-~]{1,16}"),
    "open_doors": re.compile(r"[!-~]{1,16}"),
    "key": re.compile(r"[0-9a-f]{64}"),
    "grants": grants.FORM,
}
_OTHER_TEXT = re.compile(r"[^\x00\ud800-\udfff]*")  # what PostgreSQL and UTF-8 can hold


class WireError(Exception):
    """A message that cannot be taken; the text is the reason that goes back."""


def parse(payload: bytes) -> dict[str, Any]:
    """The JSON object in the payload."""
    try:
        given = _JSON.decode(payload.decode())
    except (ValueError, RecursionError):
        raise WireError("not JSON in UTF-8 with each name once") from None
    if not isinstance(given, dict):
        raise WireError("not a JSON object")
    return given


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name twice")  # two readers could take different ones
    return found


def _no_number(word: str) -> None:
    raise ValueError("NaN and Infinity are not JSON")


_JSON = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_number)


def without_none(kind: Any) -> Any:
    if isinstance(kind, UnionType):
        (kind,) = (one for one in get_args(kind) if one is not NoneType)
    return kind


def read(name: str, kind: Any, value: Any, least: int) -> Any:
    """The value of a field, by the field's type (without None) and name; `least` is the lowest number."""
    if isinstance(kind, GenericAlias):
        if not isinstance(value, list) or len(value) > ITEMS:
            raise WireError(f"{name} is not a list of at most {ITEMS}")
        return [read(name, get_args(kind)[0], one, least) for one in value]
    if kind is bool:
        if type(value) is not bool:
            raise WireError(f"{name} is not true or false")
        return value
    if kind is int:
        if type(value) is not int or not least <= value < NUMBERS_END:
            raise WireError(f"{name} is not a whole number from {least}")
        return value
    if not isinstance(value, str) or len(value) > TEXT_LENGTH:
        raise WireError(f"{name} is not a text of at most {TEXT_LENGTH} characters")
    return _read_text(name, kind, value)


def _read_text(name: str, kind: Any, value: str) -> Any:
    if kind is datetime:
        return _read_moment(name, value)
    if issubclass(kind, StrEnum):
        try:
            return kind(value)
        except ValueError:
            raise WireError(f"{name} is not one of {', '.join(kind)}") from None
    if FORMS.get(name, _OTHER_TEXT).fullmatch(value) is None:
        raise WireError(f"{name} does not have its form")
    return value


def _read_moment(name: str, value: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value) if MOMENT.fullmatch(value) else None
        if moment is not None and EARLIEST <= moment < LATEST:
            return moment.astimezone(UTC)
    except ValueError:
        pass
    raise WireError(f"{name} is not a time with its zone, from {EARLIEST.year} to {LATEST.year - 1}")
