"""When a delivery is tried again, as data, and what an answer means for it. Pure."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from pickupbox.database.failures import BackOff

SPREAD = 0.2
LONGEST_PAUSE = 86400.0
GONE = 410
BACK_OFF = BackOff(patience=5, shortest=timedelta(seconds=5), longest=timedelta(minutes=5))
HOPELESS_DAYS = 5


@dataclass(frozen=True, slots=True)
class Judgement:
    outcome: str  # accepted, failed or given_up
    delay: float | None = None  # seconds until the lane is tried again; None: it moves on
    pause: float | None = None  # seconds that the whole endpoint asked for
    gone: bool = False  # the endpoint wants nothing more, ever


_ACCEPTED = Judgement("accepted")


def judge(
    status: int | None,
    retry_after: str | None,
    attempt: int,
    *,
    schedule: tuple[float, ...],
    now: datetime,
    chance: float,
) -> Judgement:
    """What the answer to the attempt of that number means. `chance` is between 0 and 1.

    `schedule` is the seconds from one attempt to the next, the first entry being the first attempt's own.
    """
    if status is not None and 200 <= status < 300:
        return _ACCEPTED
    if attempt >= len(schedule):
        return Judgement("given_up", gone=status == GONE)
    asked = seconds_of(retry_after, now)
    delay = schedule[attempt] * (1 + SPREAD * (2 * chance - 1)) if asked is None else asked
    return Judgement("failed", delay, pause=asked if status in (429, 503) else None, gone=status == GONE)


def seconds_of(retry_after: str | None, now: datetime) -> float | None:
    """Retry-After in seconds, between one second and a day; None if there is none that can be read."""
    if retry_after is None:
        return None
    try:
        seconds = float(int(retry_after)) if retry_after.isdecimal() else _seconds_until(retry_after, now)
    except (ValueError, OverflowError):
        return None
    return min(max(seconds, 1.0), LONGEST_PAUSE)


def _seconds_until(date: str, now: datetime) -> float:
    moment = parsedate_to_datetime(date)
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()
