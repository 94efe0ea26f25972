"""What a person reads at the box, and where the doors are."""

from dataclasses import fields
from datetime import UTC, datetime

import pytest

from pickupbox.box import keypad as pad
from pickupbox.box.page.words import SHOWN, Display, Said, display, line
from pickupbox.devices.messages import PinEntered
from pickupbox.domain.cabinet import places
from pickupbox.domain.doors import Verdict
from pickupbox.domain.throttle import FAILURES_A_DAY
from pickupbox.usecases.boxes import codes
from tests.devices.golden import BOOT, COMMAND, GOLDEN

NOW = 1000.0
OPEN = {"sandbox": True, "connected": True, "asks": False}
UNUSED, NOTHING, SILENT = pad.Throttle(), pad.Typed(), Said()
WRONG_TODAY = pad.Throttle(day=FAILURES_A_DAY, day_ends=NOW + 60)


def shown(throttle: pad.Throttle = UNUSED, typed: pad.Typed = NOTHING, said: Said = SILENT, **others: bool) -> Display:
    return display(NOW, throttle=throttle, typed=typed, said=said, **{**OPEN, **others})


@pytest.mark.parametrize(
    ("title", "detail", "found"),
    [
        ("Enter your PIN", "Six digits", shown()),
        ("One moment", "Waiting for the service", shown(sandbox=False, connected=False)),
        ("One moment", "Waiting to hear that this is a sandbox", shown(sandbox=False)),
        ("Checking", "One moment, please", shown(asks=True)),
        ("No connection", "PINs that this box knows still open", shown(connected=False)),
        ("Keypad closed", "Please try again in 45 s", shown(pad.Throttle(closed_until=NOW + 44.2))),
        ("Keypad closed", "Please try again in 15:00 min", shown(pad.Throttle(closed_until=NOW + 900))),
        ("Opening A3", "Please close the door afterwards", shown(said=Said(Verdict.OPENING, "A3", NOW - 1))),
        ("Opening", "Please close the door afterwards", shown(said=Said(Verdict.OPENING, None, NOW - 1))),
        ("Wrong PIN", "Check the six digits and try again", shown(said=Said(Verdict.REFUSED, None, NOW - 1))),
        ("No answer", "Please try again in a moment", shown(said=Said("no_answer", None, NOW - 1))),
        ("Enter your PIN", "Six digits", shown(said=Said(Verdict.REFUSED, None, NOW - 7))),
        ("Enter your PIN", "Six digits", shown(typed=pad.Typed(text="1"), said=Said(Verdict.REFUSED, None, NOW - 1))),
        ("Enter compartment and PIN", "Code, then OK", shown(WRONG_TODAY)),
        ("Enter compartment and PIN", "No connection", shown(WRONG_TODAY, connected=False)),
        ("PIN for A3", "Six digits", shown(WRONG_TODAY, pad.Typed(code="A3"))),
    ],
)
def test_the_display_says_what_to_do(title: str, detail: str, found: Display) -> None:
    assert (found.title, found.detail) == (title, detail)


def test_the_display_counts_digits_and_names_none() -> None:
    found = shown(typed=pad.Typed(text="4938"))
    assert found.typed == 4
    assert "4938" not in str(found)


def test_a_compartment_code_is_shown_as_it_is_typed() -> None:
    found = shown(WRONG_TODAY, pad.Typed(text="A1"))
    assert (found.code, found.letters, found.typed) == ("A1", True, 0)


@pytest.mark.parametrize("name", GOLDEN)
def test_a_line_says_what_a_message_says_without_ids_and_secrets(name: str) -> None:
    message = GOLDEN[name]
    said = line(message)
    assert "\n" not in said
    assert len(said) <= 120
    for each in fields(message):
        if each.name not in SHOWN and isinstance(value := getattr(message, each.name), str):
            assert value not in said
    assert BOOT not in said
    assert COMMAND not in said


def test_a_pin_is_dots() -> None:
    assert line(PinEntered(id="1", at=datetime.now(UTC), pin="049381", compartment="A4")) == "•••••• A4"


def test_the_codes_of_a_new_box_are_its_columns() -> None:
    found = places(codes(14))
    assert [found[code] for code in ("A1", "A6", "B1", "C2")] == [(1, 1), (1, 6), (2, 1), (3, 2)]


@pytest.mark.parametrize(
    "odd", [["left", "right"], ["A1", "A1b"], [f"A{number}" for number in range(160)], ["A1", "A99"]]
)
def test_codes_that_say_nothing_fill_columns_in_order(odd: list[str]) -> None:
    found = places(odd)
    assert list(found) == odd
    assert len(set(found.values())) == len(odd)
    assert max(row for _, row in found.values()) <= 6


def test_a_cabinet_may_have_gaps_and_begin_at_zero() -> None:
    assert places(["B0", "B2", "A1"]) == {"B0": (1, 1), "B2": (1, 3), "A1": (2, 2)}
