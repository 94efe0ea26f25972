"""The page of the wire says what the messages say."""

import re
from datetime import datetime
from enum import StrEnum
from types import NoneType
from typing import Any, get_args, get_origin

import pytest

from pickupbox.devices import values, wire
from pickupbox.devices.messages import MESSAGES, Message
from pickupbox.devices.wire import hints_of
from pickupbox.domain.doors import Happening, Purpose, Verdict
from tests.style.sources import ROOT

PAGE = (ROOT / "docs" / "wire.md").read_text()
COMMON = set(hints_of(Message))
TYPES = {bool: "true or false", int: "number", datetime: "time", str: "text"}
BY_NAME = {"pin": "digits", "compartment": "code", "open_doors": "code"}


def type_of(name: str, hint: Any) -> str:
    (plain,) = [one for one in get_args(hint) if one is not NoneType] if NoneType in get_args(hint) else [hint]
    if get_origin(plain) is list:
        return f"list of {type_of(name, get_args(plain)[0])}"
    if issubclass(plain, StrEnum):
        return "word"
    return BY_NAME.get(name, "id" if name in values.FORMS else TYPES[plain])


def expected(message: type[Message], names: set[str]) -> list[tuple[str, str, str]]:
    return [
        (name, type_of(name, hint), "no" if NoneType in get_args(hint) else "yes")
        for name, hint in hints_of(message).items()
        if name in names
    ]


def rows(section: str) -> list[tuple[str, str, str]]:
    return re.findall(r"^\| `(\w+)` \| ([a-z ]+) \| (yes|no) \| \S", section, re.MULTILINE)


def section_of(message: type[Message]) -> str:
    (found,) = re.findall(rf"^#### `{message.direction}/{message.kind}`: \S.*?(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
    return found


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.__name__)
def test_every_field_of_a_message_is_explained(message: type[Message]) -> None:
    assert rows(section_of(message)) == expected(message, set(hints_of(message)) - COMMON)


def test_what_every_message_has_is_explained_once() -> None:
    assert rows(PAGE[: PAGE.index("### From the box")]) == expected(Message, COMMON)


def test_no_message_is_explained_that_does_not_exist() -> None:
    explained = re.findall(r"^#### `(\w+/\w+)`", PAGE, re.MULTILINE)
    assert explained == [f"{message.direction}/{message.kind}" for message in MESSAGES]


@pytest.mark.parametrize(("words", "kind"), [(Happening, "event"), (Verdict, "pin_answer")])
def test_every_word_is_explained(words: type[StrEnum], kind: str) -> None:
    (message,) = [message for message in MESSAGES if message.kind == kind]
    table = section_of(message).split(f"| {words.__name__.lower()} |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \| \S", table, re.MULTILINE) == list(words)


def test_every_purpose_is_named() -> None:
    (row,) = re.findall(r"^\| `purpose` .*", PAGE, re.MULTILINE)
    assert re.findall(r"`(\w+)`", row)[1:] == list(Purpose)


def test_the_limits_are_those_of_the_code() -> None:
    for said in (
        f"at most {wire.MESSAGE_BYTES} bytes",
        f"at most {values.TEXT_LENGTH} characters",
        f"at most {values.ITEMS} |",
        f"years {values.EARLIEST.year} to {values.LATEST.year - 1}",
        f"`{wire.PREFIX}/<device>/up/<kind>`",
    ):
        assert said in PAGE
    assert values.NUMBERS_END == 2**53
