"""The roster, pure: for what a PIN opens while the service is out of reach, by what the box surely knows."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pickupbox.box.roster import Held, Now, Parts, from_text, purpose_now, to_text
from pickupbox.devices.messages import Roster
from pickupbox.domain.doors import Purpose
from pickupbox.domain.grants import (
    Grant,
    mark_of,
    offline_command,
    read_grant,
    read_offline_command,
    verifier_of,
    write_grant,
)

NOON = datetime(2026, 11, 14, 12, tzinfo=UTC)
ALWAYS = datetime.fromtimestamp(0, UTC)
KEY = bytes(range(32))
MINUTE = timedelta(minutes=1)


def grant(purpose: Purpose = Purpose.PICK_UP, opens_from: datetime = ALWAYS, pin: str = "123456") -> Grant:
    return Grant("A1", purpose, "0123456789ab", opens_from, NOON + 60 * MINUTE, verifier_of(KEY, pin))


def now(earliest: timedelta, latest: timedelta | None = None, *, leased: bool = True) -> Now:
    return Now(NOON + earliest, NOON + (earliest if latest is None else latest), leased)


UNKNOWN = Now(None, None, leased=False)
WITHOUT_CLOCK = Now(None, None, leased=True)


@pytest.mark.parametrize(
    ("at", "opens"),
    [
        (now(MINUTE), True),
        (now(MINUTE, leased=False), False),
        (now(59 * MINUTE, 61 * MINUTE), False),
        (WITHOUT_CLOCK, False),
        (UNKNOWN, False),
    ],
    ids=["leased", "lease over", "may be expired", "clock unknown", "just switched on"],
)
def test_a_pin_loads_only_while_the_compartment_is_surely_held_back(at: Now, opens: bool) -> None:
    assert purpose_now(grant(Purpose.LOAD), at) is (Purpose.LOAD if opens else None)


@pytest.mark.parametrize(
    ("at", "opens"),
    [
        (now(MINUTE, leased=False), True),
        (now(59 * MINUTE, 61 * MINUTE), True),
        (now(61 * MINUTE), False),
        (UNKNOWN, True),
    ],
    ids=["lease over", "may be expired", "surely expired", "just switched on"],
)
def test_a_pin_collects_unless_the_time_is_surely_over(at: Now, opens: bool) -> None:
    assert purpose_now(grant(), at) is (Purpose.PICK_UP if opens else None)


@pytest.mark.parametrize(
    ("at", "purpose"),
    [
        (now(-MINUTE), Purpose.CORRECT),
        (now(MINUTE), Purpose.PICK_UP),
        (now(-MINUTE, MINUTE), None),
        (UNKNOWN, None),
    ],
    ids=["surely before", "surely after", "cannot tell", "no clock"],
)
def test_around_the_end_of_the_protection_a_pin_opens_only_when_it_is_clear_for_what(
    at: Now, purpose: Purpose | None
) -> None:
    assert purpose_now(grant(opens_from=NOON), at) is purpose


def test_a_pin_opens_its_own_door_and_after_the_collection_none() -> None:
    held = Held(1, KEY, (grant(),))
    assert held.find("123456", None) == grant()
    assert held.find("123456", "A1") == grant()
    assert held.find("123456", "A2") is None
    assert held.find("654321", None) is None
    assert Held(1, bytes(32), (grant(),)).find("123456", None) is None
    assert held.with_collected(grant().mark).find("123456", None) is None
    assert Held().find("123456", None) is None


@given(
    st.builds(
        Grant,
        st.from_regex(r"[A-Z]{1,2}[0-9]{1,3}", fullmatch=True),
        st.sampled_from([Purpose.LOAD, Purpose.PICK_UP]),
        st.from_regex(r"[0-9a-f]{12}", fullmatch=True),
        *[st.integers(0, 9_999_999_999).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))] * 2,
        st.from_regex(r"[0-9]{6}", fullmatch=True).map(lambda pin: verifier_of(KEY, pin)),
    )
)
def test_a_grant_survives_the_wire_and_the_disk(one: Grant) -> None:
    assert read_grant(write_grant(one)) == one
    held = Held(7, KEY, (one,), frozenset({one.mark}))
    assert from_text(to_text(held)) == held


def part(number: int, of: int, version: int = 3) -> Roster:
    lines = [write_grant(Grant(f"A{number}", Purpose.LOAD, f"{number:012x}", ALWAYS, NOON, verifier_of(KEY, "000000")))]
    return Roster(id=f"m{number}", at=NOON, version=version, part=number, parts=of, key=KEY.hex(), grants=lines)


def test_a_roster_counts_when_all_its_parts_are_there_in_any_order() -> None:
    one = Parts().with_part(part(2, 2))
    assert one.whole(Held()) is None
    assert one.with_part(part(2, 2)).whole(Held()) is None, "the same part twice"
    whole = one.with_part(part(1, 2)).whole(Held())
    assert whole is not None
    assert {grant.compartment for grant in whole.grants} == {"A1", "A2"}
    assert one.with_part(part(1, 2, version=4)).whole(Held()) is None, "parts of two rosters make none"


def test_what_was_collected_stays_collected_as_long_as_the_roster_names_it() -> None:
    before = Held(2, KEY, (), frozenset({f"{1:012x}", "ffffffffffff"}))
    whole = Parts().with_part(part(1, 1)).whole(before)
    assert whole is not None
    assert whole.collected == {f"{1:012x}"}


def test_a_command_that_the_box_gave_itself_says_for_whom_and_for_what() -> None:
    command = offline_command(Purpose.PICK_UP, mark_of("shp_c1_01a1de509094636965b8fb8f056e66ac"), "0badcafe")
    assert read_offline_command(command) == (Purpose.PICK_UP, "fb8f056e66ac")
    for other in ("cmd_c1_01a1de509094636965b8fb8f056e66ac", "", "remove.0123456789ab.0badcafe", command + "0"):
        assert read_offline_command(other) is None


def test_in_whole_seconds_a_grant_opens_never_before_its_time_and_never_after_it() -> None:
    half = timedelta(milliseconds=500)
    one = Grant("A1", Purpose.PICK_UP, "0123456789ab", NOON + half, NOON + MINUTE + half, verifier_of(KEY, "000000"))
    written = read_grant(write_grant(one))
    assert (written.opens_from, written.until) == (NOON + 2 * half, NOON + MINUTE)
