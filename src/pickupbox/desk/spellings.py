"""How the usual programs write JSON, so that a body that was parsed and written again can be recognised. Pure."""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from pickupbox_sdk import Event, EventData

type Writer = Callable[[Any], str]


def _dumps(**options: Any) -> Writer:
    return lambda value: json.dumps(value, **options)


def _slashes_escaped(writer: Writer) -> Writer:
    return lambda value: writer(value).replace("/", "\\/")


def _as_go(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


_COMPACT = (",", ":")
WRITERS: dict[str, Writer] = {
    "json.dumps of Python": _dumps(),
    "json.dumps of Python with ensure_ascii=False": _dumps(ensure_ascii=False),
    "JSON.stringify of JavaScript": _dumps(ensure_ascii=False, separators=_COMPACT),
    "json.dumps of Python with compact separators": _dumps(separators=_COMPACT),
    "json_encode of PHP": _slashes_escaped(_dumps(separators=_COMPACT)),
    "json_encode of PHP with JSON_PRETTY_PRINT": _slashes_escaped(_dumps(indent=4)),
    "JSON.stringify of JavaScript with an indent of 2, or jq": _dumps(ensure_ascii=False, indent=2),
    "JSON.stringify of JavaScript with an indent of 4": _dumps(ensure_ascii=False, indent=4),
    "json.dumps of Python with indent=2": _dumps(indent=2),
    "json.dumps of Python with indent=4": _dumps(indent=4),
    "json.dumps of Python with sort_keys=True": _dumps(sort_keys=True),
    "json.dumps of Python with sort_keys=True and compact separators": _dumps(sort_keys=True, separators=_COMPACT),
    "json.Marshal of Go, from a map": _as_go,
}


def writers_of(body: bytes) -> list[str]:
    """The programs that write this event with these bytes, a line break at the end aside."""
    try:
        value = json.loads(body)
        ordered = _ordered(Event, {**value, "data": _ordered(EventData, value["data"])})
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return []
    written = body.strip()
    return [name for name, writer in WRITERS.items() if writer(ordered).encode(errors="replace") == written]


def _ordered(model: type[Event | EventData], value: Mapping[str, Any]) -> dict[str, Any]:
    """In the order in which the service writes it; what is sorted otherwise was sorted by somebody."""
    order = ["api_version", *(field.name for field in fields(model)), *value]
    return {name: value[name] for name in dict.fromkeys(order) if name in value}
