"""Times as people type them, in their zone."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from pickupbox.admin.zones import read_day, read_moment, zone_of

BERLIN = ZoneInfo("Europe/Berlin")


def test_a_day_on_which_clocks_are_moved_is_not_24_hours_long() -> None:
    assert read_day("2026-03-29", BERLIN) == datetime(2026, 3, 28, 23, tzinfo=UTC)
    assert read_day("2026-03-29", BERLIN, end=True) == datetime(2026, 3, 29, 22, tzinfo=UTC)


def test_a_time_without_a_zone_of_its_own_is_in_the_viewers() -> None:
    assert read_moment("2026-07-01T12:00", BERLIN) == datetime(2026, 7, 1, 10, tzinfo=UTC)
    assert read_moment("2026-07-01T12:00Z", BERLIN) == datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("name", ["", "Nowhere/Town", "../../etc/passwd", "/etc/localtime", "a" * 200, "Europe", "\0"])
def test_what_is_no_zone_is_utc(name: str) -> None:
    assert zone_of(name) is UTC


@pytest.mark.parametrize("text", ["", "x", "0001-01-01T00:00", "9999-12-31T23:59", "2026-13-01"])
def test_what_is_no_time_is_none(text: str) -> None:
    assert read_moment(text, ZoneInfo("Asia/Tokyo" if text < "5" else "America/New_York")) is None
    assert read_day(text, BERLIN) is None
