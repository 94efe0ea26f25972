"""The wire: what one side writes, the other reads; what is newer is tolerated, what is foreign is refused."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickupbox.devices.messages import MESSAGES, Direction, Message, PinEntered, RefusedByBox
from pickupbox.devices.values import WireError
from pickupbox.devices.wire import (
    MESSAGE_BYTES,
    PREFIX,
    UnknownKindError,
    decode,
    encode,
    id_of,
    read_topic,
    topic,
    topics_of,
)
from tests.devices.golden import DEVICE, FOLDER, GOLDEN, fields_of, kind_of, payload
from tests.devices.messages import messages

PIN = GOLDEN["up_pin"]


def read(message: Message, written: bytes) -> Message:
    return decode(message.direction, message.kind, written)


@given(messages())
def test_every_message_survives_the_wire(message: Message) -> None:
    assert read(message, encode(message)) == message


@pytest.mark.parametrize("name", GOLDEN)
def test_a_golden_file_says_what_it_always_said(name: str) -> None:
    message = GOLDEN[name]
    assert kind_of(name) is type(message)
    assert read(message, payload(name)) == message
    assert json.loads(encode(message)) == fields_of(name)


def test_every_golden_file_is_tested_and_every_kind_has_one() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(GOLDEN)
    assert {f"{message.direction}_{message.kind}" for message in MESSAGES} <= set(GOLDEN)
    assert {type(message) for message in GOLDEN.values()} == set(MESSAGES)


@pytest.mark.parametrize("name", GOLDEN)
def test_fields_that_are_not_known_are_tolerated(name: str) -> None:
    newer = {"colour": "blue", "nested": {"id": [None, 1.5e300]}, **fields_of(name), "kind": 7}
    assert read(GOLDEN[name], json.dumps(newer).encode()) == GOLDEN[name]


@pytest.mark.parametrize("name", GOLDEN)
def test_null_says_the_same_as_a_field_that_is_left_out(name: str) -> None:
    message = GOLDEN[name]
    written = dict.fromkeys(type(message).__dataclass_fields__) | fields_of(name)
    assert read(message, json.dumps(written).encode()) == message


@pytest.mark.parametrize(("direction", "kind"), [("up", "open"), ("down", "event"), ("up", "sing"), ("up", "")])
def test_a_kind_that_is_not_known_is_refused_under_its_id(direction: str, kind: str) -> None:
    with pytest.raises(UnknownKindError, match=f"^unknown kind '{kind}'$"):
        decode(Direction(direction), kind, payload("up_event"))
    assert id_of(payload("up_event")) == GOLDEN["up_event"].id


def test_a_refusal_of_a_wild_kind_is_a_message_that_can_be_sent() -> None:
    with pytest.raises(UnknownKindError) as refused:
        decode(Direction.UP, "\ud800\0" * 5000, b"{}")
    refusal = RefusedByBox(id="1", at=PIN.at, reason=str(refused.value))
    assert read(refusal, encode(refusal)) == refusal


UNREADABLE_IDS = {
    "nothing": b"",
    "wrong UTF-8": b"\xff",
    "a list": b"[]",
    "a number": b"7",
    "a text": b'"id"',
    "null": b"null",
    "no id": b"{}",
    "id is a number": b'{"id":7}',
    "id is null": b'{"id":null}',
    "id is empty": b'{"id":""}',
    "id with a space": b'{"id":"a b"}',
    "id with half a character": b'{"id":"\\ud800"}',
    "long id": b'{"id":"' + b"a" * 65 + b'"}',
    "huge number": b'{"id":' + b"9" * 5000 + b"}",
    "cut off": b'{"id":"a"',
    "too long": b'{"id":"a","x":"' + b"a" * MESSAGE_BYTES + b'"}',
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"id":' * 100_000,
}


@pytest.mark.parametrize("case", UNREADABLE_IDS)
def test_an_id_that_cannot_be_read_is_none(case: str) -> None:
    assert id_of(UNREADABLE_IDS[case]) is None


def test_the_id_is_found_in_a_message_that_is_wrong_elsewhere() -> None:
    assert id_of(b'{"seq":-1,"id":"msg_1","at":"yesterday"}') == "msg_1"


def test_a_time_of_any_zone_is_read_as_utc_and_written_in_milliseconds() -> None:
    there = datetime(2026, 11, 14, 10, 30, 0, 123_999, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert json.loads(encode(replace(PIN, at=there)))["at"] == "2026-11-14T05:00:00.123Z"
    for text in ("2026-11-14T10:30:00+05:30", "2026-11-14T05:00:00Z", "2026-11-13T23:00:00.000000000-06:00"):
        taken = read(PIN, json.dumps(fields_of("up_pin") | {"at": text}).encode())
        assert taken.at == datetime(2026, 11, 14, 5, tzinfo=UTC)
        assert taken.at.tzinfo is UTC


@pytest.mark.parametrize(
    "changes",
    [
        {"at": datetime(2026, 11, 14)},  # noqa: DTZ001 - that is the point
        {"id": "\ud800"},
        {"id": "a" * MESSAGE_BYTES},
    ],
)
def test_what_the_other_side_could_not_read_is_not_written(changes: dict[str, object]) -> None:
    with pytest.raises(WireError):
        encode(replace(PIN, **changes))


def test_a_pin_is_not_shown_when_its_message_is_printed() -> None:
    assert isinstance(PIN, PinEntered)
    assert PIN.pin not in f"{PIN!r} {PIN}"


@pytest.mark.parametrize("message", MESSAGES)
def test_a_topic_is_read_as_it_was_written(message: type[Message]) -> None:
    assert read_topic(topic(DEVICE, message)) == (DEVICE, message.direction, message.kind)


def test_each_kind_has_a_topic_of_its_own() -> None:
    assert len({topic(DEVICE, message) for message in MESSAGES}) == len(MESSAGES)
    assert topic(DEVICE, PinEntered) == f"pickupbox/v1/{DEVICE}/up/pin"
    assert topics_of(DEVICE, Direction.DOWN) == f"pickupbox/v1/{DEVICE}/down/+"


def test_the_topic_of_a_kind_that_is_not_known_can_be_read() -> None:
    assert read_topic(f"{PREFIX}/{DEVICE}/up/sing") == (DEVICE, "up", "sing")


@pytest.mark.parametrize(
    "text",
    [
        *("", "/", "////", "#", "+", "$SYS/broker/uptime", f"$share/pickupbox/{PREFIX}/{DEVICE}/up/pin"),
        *(f"{PREFIX}/{DEVICE}/up", f"{PREFIX}/{DEVICE}/up/pin/", f"/{PREFIX}/{DEVICE}/up/pin", f"{PREFIX}//up/pin"),
        *(f"pickupbox/v2/{DEVICE}/up/pin", f"Pickupbox/v1/{DEVICE}/up/pin", f"other/v1/{DEVICE}/up/pin"),
        *(f"{PREFIX}/{DEVICE}/sideways/pin", f"{PREFIX}/{DEVICE}/UP/pin", f"{PREFIX}/{DEVICE}/+/pin"),
        *(f"{PREFIX}/{DEVICE}/up/{kind}" for kind in ("", "+", "#", "pin\n", "pin\0", "$SYS", "pïn", "a" * 65)),
        *(f"{PREFIX}/{device}/up/pin" for device in ("+", "#", "$SYS", "dev_c1_", "box" + DEVICE[3:], DEVICE + "\n")),
        *(f"{PREFIX}/{device}/up/pin" for device in (DEVICE.upper(), DEVICE + "0", DEVICE[:-1], DEVICE[:-1] + "٣")),
    ],
)
def test_a_topic_that_is_not_ours_is_refused(text: str) -> None:
    with pytest.raises(WireError):
        read_topic(text)


@given(st.text() | st.lists(st.sampled_from([*PREFIX.split("/"), DEVICE, "up", "pin", "+", "#", ""])).map("/".join))
def test_any_text_is_a_topic_or_a_wire_error(text: str) -> None:
    try:
        device, direction, kind = read_topic(text)
    except WireError:
        return
    assert text == f"{PREFIX}/{device}/{direction}/{kind}"


def test_the_wire_needs_nothing_but_the_standard_library() -> None:
    asked = (
        "import sys; before = set(sys.modules); import pickupbox.devices.wire;"
        "print({name.split('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)"
    )
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=30)
    assert told.stdout.strip() == "{'pickupbox'}"
