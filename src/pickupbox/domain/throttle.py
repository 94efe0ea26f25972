"""The keypad's throttle: guessing PINs must not pay."""

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

FAILURES = 5  # in a row close the keypad
CLOSED_FIRST = timedelta(seconds=60)
CLOSED_LONGEST = timedelta(minutes=15)
FAILURES_A_DAY = 20  # and then the compartment is asked for as well


@dataclass(frozen=True, slots=True)
class Keypad:
    """How often one box's keypad was failed at."""

    day: date
    day_failures: int = 0
    failures: int = 0  # since it was last closed or succeeded at
    closings: int = 0  # in a row, each twice as long as the one before
    closed_until: datetime | None = None

    def seconds_closed(self, now: datetime) -> int:
        """How long it still stays closed; 0 if it is open."""
        if self.closed_until is None or self.closed_until <= now:
            return 0
        return max(1, round((self.closed_until - now).total_seconds()))

    def needs_compartment(self, now: datetime) -> bool:
        return self.day == now.date() and self.day_failures >= FAILURES_A_DAY

    def after_failure(self, now: datetime) -> "Keypad":
        today = self.day_failures if self.day == now.date() else 0
        failed = replace(self, day=now.date(), day_failures=today + 1, failures=self.failures + 1)
        if failed.failures < FAILURES:
            return failed
        closed = min(CLOSED_FIRST * 2 ** min(self.closings, 10), CLOSED_LONGEST)
        return replace(failed, failures=0, closings=self.closings + 1, closed_until=now + closed)

    def after_success(self) -> "Keypad":
        """The day's failures stay: one known PIN must not buy guesses at the others."""
        return replace(self, failures=0, closings=0, closed_until=None)
