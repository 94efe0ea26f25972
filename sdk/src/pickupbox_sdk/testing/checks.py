"""Which requests break the schema, and where: what the service's `details` say, without its words."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Problem = dict[str, Any]


class Rule(NamedTuple):
    """A text or a whole number between two bounds: of its length, or of itself."""

    kind: type[str] | type[int]
    least: int
    most: int
    required: bool = False
    pattern: str = r"[^\x00]*"
    breach: str = "value_error"  # what a text that does not fit the pattern is called


CREATE = {
    "box_id": Rule(str, 1, 64, required=True),
    "external_order_id": Rule(str, 1, 160, required=True),
    "customer_name": Rule(str, 0, 160),
    "reservation_ttl_minutes": Rule(int, 15, 10080),
    "pickup_ttl_minutes": Rule(int, 60, 43200),
}
EVENTS = {
    "after": Rule(str, 1, 64, pattern=r"[^\x00-\x1f\x7f]+", breach="string_pattern_mismatch"),
    "limit": Rule(int, 1, 1000),
}
ORDER = {
    "external_order_id": Rule(str, 1, 160, required=True, pattern=r"[^\x00]+", breach="string_pattern_mismatch"),
}
SHIPMENT_ID = Rule(str, 0, 64, pattern=r"[^\x00-\x1f\x7f]+", breach="string_pattern_mismatch")
SANDBOX_EVENTS = ("loaded", "picked_up", "door_available", "expired", "fault", "removed")
NOT_AN_OBJECT = {"loc": ["body"], "msg": "not an object", "type": "model_type"}


class NotJsonError(Exception):
    """The body is not JSON."""


def parsed(body: bytes, content_type: str) -> Any:
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise NotJsonError
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise NotJsonError from None


def _refuse_constant(name: str) -> None:
    """NaN and its like are Python's, not JSON's."""
    raise ValueError(name)


def problems_of(value: Any, rules: Mapping[str, Rule]) -> list[Problem]:
    """What is wrong with the body of a create."""
    if not isinstance(value, dict):
        return [NOT_AN_OBJECT]
    found = [_problem(["body", name], value.get(name, ...), rule) for name, rule in rules.items()]
    extra = [_say(["body", name], "extra_forbidden") for name in value if name not in rules]
    return [problem for problem in found if problem] + extra


def query_problems(pairs: Sequence[tuple[str, str]], rules: Mapping[str, Rule]) -> list[Problem]:
    values: dict[str, Any] = dict(pairs)
    repeated = [
        _say(["query", name], "repeated")
        for number, (name, _) in enumerate(pairs)
        if name in [earlier for earlier, _ in pairs[:number]]
    ]
    found: list[Problem | None] = []
    for name, rule in rules.items():
        text = values.get(name, ...)
        if rule.kind is int and text is not ...:
            digits = text.isascii() and text.isdigit()
            found.append(_problem(["query", name], int(text), rule) if digits else _say(["query", name], "int_parsing"))
        else:
            found.append(_problem(["query", name], text, rule))
    extra = [_say(["query", name], "extra_forbidden") for name in values if name not in rules]
    return [problem for problem in found if problem] + extra + repeated


def id_problems(shipment_id: str) -> list[Problem]:
    problem = _problem(["path", "shipment_id"], shipment_id, SHIPMENT_ID)
    return [problem] if problem else []


def event_problems(value: Any) -> list[Problem]:
    if not isinstance(value, dict):
        return [NOT_AN_OBJECT]
    if "event" not in value:
        return [_say(["body", "event"], "missing")]
    return [] if value["event"] in SANDBOX_EVENTS else [_say(["body", "event"], "enum")]


def _problem(loc: list[str], value: Any, rule: Rule) -> Problem | None:
    if value is ...:
        return _say(loc, "missing") if rule.required else None
    if value is None and not rule.required:
        return None
    if rule.kind is int:
        return _number_problem(loc, value, rule)
    if not isinstance(value, str):
        return _say(loc, "string_type")
    if len(value) < rule.least:
        return _say(loc, "string_too_short")
    if len(value) > rule.most:
        return _say(loc, "string_too_long")
    return None if re.fullmatch(rule.pattern, value, re.DOTALL) else _say(loc, rule.breach)


def _number_problem(loc: list[str], value: Any, rule: Rule) -> Problem | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        return _say(loc, "int_type")
    if value < rule.least:
        return _say(loc, "greater_than_equal")
    return _say(loc, "less_than_equal") if value > rule.most else None


def _say(loc: list[str], kind: str) -> Problem:
    return {"loc": loc, "msg": kind.replace("_", " "), "type": kind}
