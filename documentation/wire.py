"""The wire's messages as a page, from the AsyncAPI document that the messages themselves make."""

from typing import Any

from pickupbox.devices.asyncapi import document

_BEGINNING = """# Messages of the wire

For who writes firmware: every message as the [AsyncAPI 3 document](asyncapi.json) describes it. The document is made
from the code that box and service share. What the messages mean, and in which order they come, is told in
[The wire](wire.md).
"""


def page() -> str:
    described = document()
    parts = [_BEGINNING]
    for action, title in (("receive", "From the box"), ("send", "To the box")):
        parts.append(f"\n## {title}\n")
        parts += [
            _message(described, name, operation)
            for name, operation in described["operations"].items()
            if operation["action"] == action
        ]
    return "".join(parts)


def _message(described: dict[str, Any], name: str, operation: dict[str, Any]) -> str:
    channel = described["channels"][name]
    (message,) = (described["components"]["messages"][one] for one in channel["messages"])
    bindings = operation["bindings"]["mqtt"]
    payload = message["payload"]
    rows = "".join(
        f"| `{field}` | {_kind(schema)} | {'yes' if field in payload['required'] else 'no'} |\n"
        for field, schema in payload["properties"].items()
    )
    return (
        f"\n### {name.replace('_', '/', 1)}\n\n{message['summary']}\n\n"
        f"`{channel['address']}` · QoS {bindings['qos']}{' · retained' if bindings['retain'] else ''}\n\n"
        f"| field | type | needed |\n|---|---|---|\n{rows}"
    )


def _kind(schema: dict[str, Any]) -> str:
    match schema:
        case {"enum": words}:
            return " ".join(f"`{word}`" for word in words)
        case {"type": "array", "items": items, "maxItems": most}:
            return f"list, at most {most}, of: {_kind(items)}"
        case {"type": "integer", "minimum": least, "maximum": most}:
            return f"integer, {least} to {most}"
        case {"format": "date-time"}:
            return "time, RFC 3339"
        case {"type": "string", "maxLength": most}:
            return f"text, at most {most} characters"
        case {"type": "string", "pattern": pattern}:
            return f"string, `{pattern.replace('|', chr(92) + '|')}`"
        case _:
            return str(schema["type"])
