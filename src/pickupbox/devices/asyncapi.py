"""The AsyncAPI 3 document of the wire, made from the messages themselves."""

from datetime import datetime
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from pickupbox.devices.messages import MESSAGES, Direction, Message
from pickupbox.devices.values import FORMS, ITEMS, MOMENT, NUMBERS_END, TEXT_LENGTH
from pickupbox.devices.wire import MESSAGE_BYTES, PREFIX, VERSION, hints_of
from pickupbox.domain.identifiers import DEVICE_PATTERN


def document() -> dict[str, Any]:
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Pickupbox wire",
            "version": f"{VERSION}.0.0",
            "description": (
                "What a box and the service say to each other over MQTT 5. A message is one "
                f"JSON object of at most {MESSAGE_BYTES} bytes; unknown fields are tolerated, unknown kinds refused."
            ),
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "channels": {_name(message): _channel(message) for message in MESSAGES},
        "operations": {_name(message): _operation(message) for message in MESSAGES},
        "components": {"messages": {message.__name__: _message(message) for message in MESSAGES}},
    }


def _name(message: type[Message]) -> str:
    return f"{message.direction}_{message.kind}"


def _channel(message: type[Message]) -> dict[str, Any]:
    return {
        "address": f"{PREFIX}/{{device}}/{message.direction}/{message.kind}",
        "parameters": {"device": {"description": f"The box's device id, {DEVICE_PATTERN}"}},
        "messages": {message.__name__: {"$ref": f"#/components/messages/{message.__name__}"}},
    }


def _operation(message: type[Message]) -> dict[str, Any]:
    """As the service sees it: it receives what boxes say, and sends what they are told."""
    return {
        "action": "receive" if message.direction is Direction.UP else "send",
        "channel": {"$ref": f"#/channels/{_name(message)}"},
        "bindings": {"mqtt": {"qos": message.qos, "retain": message.kind == "presence", "bindingVersion": "0.2.0"}},
    }


def _message(message: type[Message]) -> dict[str, Any]:
    hints = hints_of(message)
    return {
        "name": _name(message),
        "summary": " ".join((message.__doc__ or "").split("\n\n")[0].split()),
        "payload": {
            "type": "object",
            "properties": {name: _schema(name, hint, message.least) for name, hint in hints.items()},
            "required": [name for name, hint in hints.items() if NoneType not in get_args(hint)],
        },
    }


def _schema(name: str, kind: Any, least: int) -> dict[str, Any]:
    if isinstance(kind, UnionType):
        (kind,) = (one for one in get_args(kind) if one is not NoneType)
    if get_origin(kind) is list:
        return {"type": "array", "maxItems": ITEMS, "items": _schema(name, get_args(kind)[0], least)}
    if kind is bool:
        return {"type": "boolean"}
    if kind is int:
        return {"type": "integer", "minimum": least, "maximum": NUMBERS_END - 1}
    if kind is datetime:
        return {"type": "string", "format": "date-time", "pattern": f"^{MOMENT.pattern}$"}
    if issubclass(kind, StrEnum):
        return {"type": "string", "enum": list(kind)}
    if name in FORMS:
        return {"type": "string", "pattern": f"^{FORMS[name].pattern}$"}
    return {"type": "string", "maxLength": TEXT_LENGTH, "pattern": r"^[^\u0000]*$"}
