"""The keypad: what is typed, and how often it may be wrong. Pure: ticks are an argument.

A PIN is six digits and goes off with the sixth. Five refusals close the keypad for 60 s, the next five for 120 s, and
so on to 15 minutes. After 20 within a day the compartment's code is asked for before the PIN (then `enter`). A PIN that
opens ends the row of five and the doubling; the day's count goes on until 24 hours after the day's first refusal.

The counters survive a restart as time left, not as a time: the box's clock cannot be trusted, and a box that is
switched off and on only waits longer.
"""

import json
from dataclasses import asdict, dataclass, replace

from pickupbox.domain.throttle import CLOSED_FIRST, CLOSED_LONGEST, FAILURES, FAILURES_A_DAY

PIN_DIGITS = 6
CODE_LENGTH = 16
TYPING_SECONDS = 15.0
CLOSED_SECONDS = CLOSED_FIRST.total_seconds()
DAY_SECONDS = 86_400.0
CLEAR = "*"
ENTER = "#"


@dataclass(frozen=True, slots=True)
class Typed:
    """What stands on the display so far."""

    code: str | None = None  # the compartment's, once it was entered
    text: str = ""
    last_key: float = 0.0


@dataclass(frozen=True, slots=True)
class Entered:
    pin: str
    compartment: str | None = None


def pressed(typed: Typed, key: str, now: float, *, with_compartment: bool) -> tuple[Typed, Entered | None]:
    """One key: a digit, a letter of a compartment's code, CLEAR or ENTER. Others do nothing."""
    if key == CLEAR or now - typed.last_key > TYPING_SECONDS:
        typed = Typed()
    if with_compartment and typed.code is None:
        return replace(_coded(typed, key), last_key=now), None
    text = typed.text + key if len(key) == 1 and key.isascii() and key.isdigit() else typed.text
    if len(text) < PIN_DIGITS:
        return replace(typed, text=text, last_key=now), None
    return Typed(), Entered(text, typed.code if with_compartment else None)


def _coded(typed: Typed, key: str) -> Typed:
    if key == ENTER and typed.text:
        return Typed(code=typed.text)
    if len(key) == 1 and key.isascii() and key.isalnum() and len(typed.text) < CODE_LENGTH:
        return replace(typed, text=typed.text + key.upper())
    return typed


@dataclass(frozen=True, slots=True)
class Throttle:
    """How many refusals, and until which tick the keypad is closed and the day lasts."""

    row: int = 0
    day: int = 0
    closures: int = 0
    closed_until: float = 0.0
    day_ends: float = 0.0

    def closed_seconds(self, now: float) -> float:
        """How long the keypad stays closed; 0: it is open."""
        return max(0.0, self.closed_until - now)

    def needs_compartment(self, now: float) -> bool:
        return self.day >= FAILURES_A_DAY and now < self.day_ends


def refused(throttle: Throttle, now: float) -> Throttle:
    """A PIN did not open."""
    today = _today(throttle, now)
    counted = replace(today, row=today.row + 1, day=min(today.day + 1, FAILURES_A_DAY))
    if counted.row < FAILURES:
        return counted
    seconds = min(CLOSED_SECONDS * 2**counted.closures, CLOSED_LONGEST.total_seconds())
    return replace(counted, row=0, closures=min(counted.closures + 1, 10), closed_until=now + seconds)


def opened(throttle: Throttle) -> Throttle:
    """The day's count stays: one known PIN must not buy guesses at the others."""
    return replace(throttle, row=0, closures=0)


def told_closed(throttle: Throttle, seconds: float, now: float) -> Throttle:
    """The service counts as well; whoever closes for longer is obeyed."""
    return replace(throttle, closed_until=max(throttle.closed_until, now + min(seconds, DAY_SECONDS)))


def told_compartment_needed(throttle: Throttle, now: float) -> Throttle:
    return replace(_today(throttle, now), day=FAILURES_A_DAY)


def _today(throttle: Throttle, now: float) -> Throttle:
    if now < throttle.day_ends:
        return throttle
    return replace(throttle, day=0, closures=0, day_ends=now + DAY_SECONDS)


def to_text(throttle: Throttle, now: float) -> str:
    left = replace(throttle, closed_until=throttle.closed_seconds(now), day_ends=max(0.0, throttle.day_ends - now))
    return json.dumps(asdict(left))


def from_text(text: str | None, now: float) -> Throttle:
    """What was kept; what cannot be read counts as nothing, and the service counts anyway."""
    try:
        kept = Throttle(**json.loads(text or "{}"))
        return replace(kept, closed_until=now + kept.closed_until, day_ends=now + kept.day_ends)
    except (TypeError, ValueError):
        return Throttle()
