"""Times as people type them: in the zone that the page's script named, in UTC without a script."""

import re
from datetime import UTC, datetime, time, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_NAME = re.compile(r"[A-Za-z0-9_+-]{1,40}(/[A-Za-z0-9_+-]{1,40}){0,2}")


def zone_of(name: str) -> tzinfo:
    """The zone of that name; UTC if this machine knows none, and pages say which one counted."""
    try:
        return ZoneInfo(name) if _NAME.fullmatch(name) else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def read_moment(text: str, zone: tzinfo) -> datetime | None:
    """What `datetime-local` sends, in UTC."""
    try:
        typed = datetime.fromisoformat(text)
        return (typed if typed.tzinfo else typed.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def read_day(text: str, zone: tzinfo, *, end: bool = False) -> datetime | None:
    """When the day that `date` sends begins there, in UTC; or when it ends, which is not always 24 hours later."""
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        return None
    if not 2000 <= day.year <= 2999:
        return None
    wanted = day.fromordinal(day.toordinal() + end)
    return datetime.combine(wanted, time(), zone).astimezone(UTC)
