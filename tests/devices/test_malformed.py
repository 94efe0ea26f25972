"""Malformed messages: whatever comes over the wire, it is a message or a WireError, and no WireError tells a PIN."""

import json
import os
import traceback
from datetime import datetime
from enum import StrEnum
from types import NoneType
from typing import Any, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickupbox.devices.messages import MESSAGES, Direction, Message
from pickupbox.devices.values import FORMS, ITEMS, TEXT_LENGTH, WireError
from pickupbox.devices.wire import MESSAGE_BYTES, decode, encode, hints_of, id_of
from tests.devices.garbled import garbled
from tests.devices.golden import GOLDEN, fields_of, kind_of, payload

CASES = int(os.environ.get("PICKUPBOX_WIRE_CASES", "10000"))
SEED = int(os.environ.get("PICKUPBOX_WIRE_SEED", "1"))
PIN = "493817"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
FIELDS = [(kind, name, hint) for kind in MESSAGES for name, hint in hints_of(kind).items()]
NAMED = pytest.mark.parametrize(
    ("kind", "name", "hint"), FIELDS, ids=[f"{kind.direction}_{kind.kind}.{name}" for kind, name, _ in FIELDS]
)
# As JSON texts, because some of them are not JSON.
WRONG_ANYWHERE = ["{}", '{"a":1}', "[[]]", "[null]", "1.5", "-1", "1e400", "-1e400", "NaN", "Infinity", "-Infinity"]
WRONG_ANYWHERE += ["9" * 400, "9" * 5000, "1" + "0" * 16, "[" * 3000 + "]" * 3000, '{"a":' * 1000 + "1" + "}" * 1000]
WRONG_TEXTS = ['"\\u0000"', '"A\\u0000"', '"\\ud800"', '"\\udfff\\ud800"', '"' + "a" * (TEXT_LENGTH + 1) + '"']
WRONG_TIMES = ["2026-11-14", "2026-11-14T09:00:00", "09:00:00Z", "2026-11-14 09:00:00Z", "2026-W46-6T09:00:00Z", "now"]
WRONG_TIMES += ["20261114T090000Z", "2026-11-14T09:00Z", "2026-11-14T09:00:00,5Z", "2026-11-14T09:00:00+00", "١٤"]
WRONG_TIMES += ["2026-02-30T09:00:00Z", "2026-11-14T09:00:60Z", "2026-11-14T25:00:00Z", "2026-11-14T09:00:00+24:00"]
WRONG_TIMES += ["0000-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z"]
WRONG_TIMES += ["9999-12-31T23:59:59-14:00", "3000-01-01T00:00:00Z", "12026-11-14T09:00:00Z", "-2026-11-14T09:00:00Z"]


def read(kind: type[Message], written: bytes) -> Message:
    return decode(kind.direction, kind.kind, written)


def example_of(kind: type[Message], name: str) -> str:
    """A golden file of the kind, with that field."""
    return next(file for file in GOLDEN if kind_of(file) is kind and name in fields_of(file))


def with_value(kind: type[Message], name: str, value: str) -> bytes:
    """The golden message with one value as it is given, JSON or not."""
    others = json.dumps({key: there for key, there in fields_of(example_of(kind, name)).items() if key != name})
    return f"{others[:-1]},{json.dumps(name)}:{value}}}".encode()


def wrong_values(name: str, hint: Any) -> list[str]:
    (plain,) = [one for one in get_args(hint) if one is not NoneType] if NoneType in get_args(hint) else [hint]
    if get_origin(plain) is list:
        inner = [f"[{value}]" for value in wrong_values(name, get_args(plain)[0])]
        return [*inner, *WRONG_ANYWHERE, '"A4"', "[" + ",".join(['"A"'] * (ITEMS + 1)) + "]"]
    if plain is bool:
        return [*WRONG_ANYWHERE, "0", "1", '"true"', '"A4"']
    if plain is int:
        return [*WRONG_ANYWHERE, "true", "false", "1.0", "1e3", "9007199254740992", '"1"']
    wrong = [*WRONG_ANYWHERE, *WRONG_TEXTS, "true", "7"]
    if plain is datetime:
        return wrong + [json.dumps(time) for time in WRONG_TIMES]
    if issubclass(plain, StrEnum):
        return [*wrong, '""', '"dance"', json.dumps(next(iter(plain)).upper()), json.dumps(next(iter(plain)) + " ")]
    if name in FORMS:
        return [*wrong, '""', '"A 4"', '"A4\\n"', '"Ä4"', '"' + "a" * 65 + '"']
    return wrong


@NAMED
def test_a_wrong_value_is_refused_by_the_name_of_its_field(kind: type[Message], name: str, hint: Any) -> None:
    for value in wrong_values(name, hint):
        with pytest.raises(WireError) as refused:
            read(kind, with_value(kind, name, value))
        assert str(refused.value).startswith((f"{name} ", "not JSON", "longer than")), value[:50]
    right = example_of(kind, name)
    assert read(kind, with_value(kind, name, json.dumps(fields_of(right)[name]))) == GOLDEN[right]


@NAMED
def test_a_field_may_be_missing_or_null_only_if_it_is_optional(kind: type[Message], name: str, hint: Any) -> None:
    without = {key: value for key, value in fields_of(example_of(kind, name)).items() if key != name}
    for given_fields in (without, without | {name: None}):
        written = json.dumps(given_fields).encode()
        if NoneType in get_args(hint):
            assert getattr(read(kind, written), name) is None
        else:
            with pytest.raises(WireError, match=f"^{name} is missing$"):
                read(kind, written)


@NAMED
def test_a_name_that_is_there_twice_is_refused(kind: type[Message], name: str, hint: Any) -> None:
    value = json.dumps(fields_of(example_of(kind, name))[name])
    twice = payload(example_of(kind, name)).replace(b"{", f'{{"{name}":{value},'.encode(), 1)
    with pytest.raises(WireError, match="each name once"):
        read(kind, twice)


def test_a_journal_is_counted_from_one_and_what_is_committed_from_zero() -> None:
    kinds = {kind.kind: kind for kind in MESSAGES}
    for name in ("heartbeat", "ack", "resend"):
        assert read(kinds[name], with_value(kinds[name], "seq", "0")).seq == 0
    with pytest.raises(WireError, match=r"^seq is not a whole number from 1$"):
        read(kinds["event"], with_value(kinds["event"], "seq", "0"))


@pytest.mark.parametrize("code", ["", "A 4", "Ä4", "A4\n", "A" * 17])
def test_an_open_door_is_named_by_a_compartment_code(code: str) -> None:
    with pytest.raises(WireError, match=r"^open_doors does not have its form$"):
        decode(Direction.UP, "heartbeat", json.dumps(fields_of("up_heartbeat") | {"open_doors": ["A4", code]}).encode())


NOT_JSON_OBJECTS = {
    "nothing": b"",
    "spaces": b"   ",
    "a list": b"[]",
    "a number": b"1",
    "null": b"null",
    "a text": b'"{}"',
    "cut off": payload("up_pin")[:-3],
    "something behind": payload("up_pin") + b"{}",
    "single quotes": payload("up_pin").replace(b'"', b"'"),
    "a byte order mark": b"\xef\xbb\xbf" + payload("up_pin"),
    "UTF-16": payload("up_pin").decode().encode("utf-16"),
    "UTF-32": payload("up_pin").decode().encode("utf-32"),
    "wrong UTF-8": payload("up_pin").replace(b"msg", b"m\xffg"),
    "overlong UTF-8": payload("up_pin").replace(b"msg", b"m\xc0\x80g"),
    "half a character": payload("up_pin").replace(b"{", b'{"x":"\xed\xa0\x80",', 1),
    "NaN in an unknown field": payload("up_pin").replace(b"{", b'{"x":NaN,', 1),
    "a huge number in an unknown field": payload("up_pin").replace(b"{", b'{"x":' + b"9" * 5000 + b",", 1),
    "a name twice, further in": payload("up_pin").replace(b"{", b'{"x":{"a":1,"a":2},', 1),
    "deep lists": b"[" * MESSAGE_BYTES,
    "deep objects": (b'{"a":' * MESSAGE_BYTES)[:MESSAGE_BYTES],
    "too long": payload("up_pin") + b" " * MESSAGE_BYTES,
}


@pytest.mark.parametrize("case", NOT_JSON_OBJECTS)
def test_what_is_no_json_object_is_refused(case: str) -> None:
    with pytest.raises(WireError, match=r"^(not JSON|not a JSON object$|longer than)"):
        decode(Direction.UP, "pin", NOT_JSON_OBJECTS[case])


def test_a_message_may_be_as_long_as_the_limit_and_no_longer() -> None:
    filled = payload("up_pin") + b" " * (MESSAGE_BYTES - len(payload("up_pin")))
    assert decode(Direction.UP, "pin", filled) == GOLDEN["up_pin"]
    with pytest.raises(WireError, match=r"^longer than 8192 bytes$"):
        decode(Direction.UP, "pin", filled + b" ")


@pytest.mark.parametrize(
    "pin",
    [
        "٠٤٩٣٨١",
        "\uff10\uff14\uff19\uff13\uff18\uff11",
        "04938²",
        "04938",
        "0493811",
        "04938a",
        "049381\n",
        " 49381",
        "-49381",
    ],
)
def test_a_pin_is_six_ascii_digits(pin: str) -> None:
    for ensure_ascii in (True, False):
        with pytest.raises(WireError, match=r"^pin does not have its form$"):
            decode(
                Direction.UP, "pin", json.dumps(fields_of("up_pin") | {"pin": pin}, ensure_ascii=ensure_ascii).encode()
            )


def check_that_it_is_a_message_or_refused(kind: type[Message], written: bytes) -> bool:
    """Whether it was taken; what was taken can be sent and taken again."""
    found = id_of(written)
    assert found is None or FORMS["id"].fullmatch(found)
    try:
        message = read(kind, written)
    except WireError as error:
        reason = str(error)
    else:
        assert encode(read(kind, encode(message))) == encode(message)
        return True
    assert 0 < len(reason) < 200
    return False


@given(st.sampled_from(MESSAGES), st.binary() | st.text().map(str.encode))
def test_any_bytes_are_a_message_or_a_wire_error(kind: type[Message], written: bytes) -> None:
    check_that_it_is_a_message_or_refused(kind, written)


@given(st.sampled_from(sorted(GOLDEN)), st.sampled_from(FIELDS), JSON)
def test_any_json_in_a_field_is_a_message_or_a_wire_error(file: str, field: tuple[Any, str, Any], value: Any) -> None:
    check_that_it_is_a_message_or_refused(kind_of(file), json.dumps(fields_of(file) | {field[1]: value}).encode())


def test_whatever_comes_is_a_message_or_a_wire_error() -> None:
    taken = [check_that_it_is_a_message_or_refused(kind, written) for kind, written in garbled(SEED, CASES)]
    assert len(taken) == CASES
    assert CASES / 50 < sum(taken) < CASES / 2  # a run that takes nothing, or all, finds nothing


@given(st.sampled_from(["id", "at", "pin", "compartment", "pin\ud800", PIN]), st.integers(0, 4), st.integers(0, 7))
def test_no_refusal_repeats_a_pin(name: str, way: int, number: int) -> None:
    wrong: list[Any] = [PIN + "0", f"x{PIN}\0", [PIN], {PIN: PIN}, int(PIN), -int(PIN), f"{PIN}\ud800", f" {PIN} " * 20]
    changed = json.dumps(fields_of("up_pin") | {"pin": PIN} | {name: wrong[number]})
    ways = [changed, changed[:-1], changed.replace(":", ": NaN", 1), f"[{changed}]", f'{{"pin":"{PIN}",{changed[1:]}']
    told = ""
    try:
        decode(Direction.UP, "pin", ways[way].encode())  # it may be taken: what is wrong can be in an unknown field
    except WireError as error:
        told = "".join(traceback.format_exception(error)) + repr(error)
    assert PIN not in told
