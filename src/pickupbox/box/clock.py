"""How the box knows the service's clock. Pure: ticks go in, bounds come out.

The box's own clock may be a day off, so it is never asked. What counts is ticks (seconds since the board was switched
on) and the `at` of answers: a message left at tick `sent`, its answer came back at tick `received` and says that
the service's clock showed `at` somewhere between the two. So at any later tick the service's clock shows at least
`at + (tick - received)` and at most `at + (tick - sent)`. The shortest round trip is the best; the board's crystal
makes it worse with age. A command is late when it may be late: the upper bound decides.

Every transmission has an id of its own, so an answer that the broker kept from before a restart matches nothing here.
"""

import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime

OUTSTANDING = 256
ROUND_TRIP_SECONDS = 10.0
DRIFT = 0.0001  # of the time passed: a cheap crystal in the cold


def ticks() -> float:
    """Seconds that only go forward. Where the system has it, the clock that also counts while suspended."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)


@dataclass(frozen=True, slots=True)
class Sample:
    """At tick `sent` the service's clock showed at most `at`, at tick `received` at least `at` (unix seconds)."""

    sent: float
    received: float
    at: float

    def width(self, tick: float) -> float:
        """How far apart the two bounds are at that tick."""
        return self.received - self.sent + 2 * DRIFT * (tick - self.sent)


class ServiceClock:
    """The best sample so far, and which transmissions may still be answered."""

    def __init__(self) -> None:
        self._sent: OrderedDict[str, float] = OrderedDict()
        self._best: Sample | None = None

    def sent(self, message_id: str, tick: float) -> None:
        self._sent[message_id] = tick
        while len(self._sent) > OUTSTANDING:
            self._sent.popitem(last=False)

    def sent_at(self, message_id: str) -> float | None:
        """The tick at which this process sent it, if that is not long ago."""
        return self._sent.get(message_id)

    def answered(self, about: str, at: datetime, tick: float) -> None:
        """An answer to a transmission of this process; any other says nothing about the time."""
        sent = self._sent.get(about)
        if sent is None or not 0 <= tick - sent <= ROUND_TRIP_SECONDS:
            return
        sample = Sample(sent, tick, at.timestamp())
        if self._best is None or sample.width(tick) <= self._best.width(tick) or not self._agrees(sample):
            self._best = sample

    def _agrees(self, sample: Sample) -> bool:
        """Whether the sample's bounds meet those of the best; if not, the service's clock was set: the newest holds."""
        assert self._best is not None  # noqa: S101 - asked only when there is one
        drift = DRIFT * (sample.received - self._best.sent)
        earliest = self._best.at + (sample.received - self._best.received) - drift
        latest = self._best.at + (sample.received - self._best.sent) + drift
        return sample.at <= latest and sample.at + (sample.received - sample.sent) >= earliest

    def latest(self, tick: float) -> datetime | None:
        """The latest that the service's clock can show at this tick; None while it is not known."""
        if self._best is None:
            return None
        passed = tick - self._best.sent
        return datetime.fromtimestamp(self._best.at + passed * (1 + DRIFT), UTC)

    def earliest(self, tick: float) -> datetime | None:
        """The earliest that the service's clock can show at this tick; None while it is not known."""
        if self._best is None:
            return None
        passed = tick - self._best.received
        return datetime.fromtimestamp(self._best.at + passed * (1 - DRIFT), UTC)
