"""What pages of logs have in common: newest first, a cursor, and an end to how far one page looks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

ROWS = 50
LOOK = 5000  # entries that one page looks at, however few of them are wanted


@dataclass(frozen=True, slots=True)
class LogPage[Row]:
    """`looked_back_to` is set if the page is not full because it stopped looking there."""

    rows: Sequence[Row]
    next: str | None
    looked_back_to: datetime | None = None


def cursor_of(at: datetime, name: str) -> str:
    return f"{at.astimezone(UTC).isoformat()}~{name}"


def read_cursor(cursor: str, newest: datetime) -> tuple[datetime, str]:
    """The place that a cursor stands for; the newest if it is none of ours."""
    at, _, name = cursor.partition("~")
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return newest, ""
    return (moment, name) if moment.tzinfo and "\0" not in name else (newest, "")
