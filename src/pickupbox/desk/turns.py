"""Whose turn it is to be forwarded: in the feed's order, one of a shipment at a time, one that failed aside. Pure."""

from collections import deque
from dataclasses import dataclass

from pickupbox_sdk import Event


@dataclass(frozen=True, slots=True)
class Told:
    """An event, and the bytes of its webhook."""

    event: Event
    body: bytes
    previous: str | None  # the event before it in the feed: from there it can be had again


class Turns:
    """What is read and not yet settled. `after` is the event up to which all is: from there a next run goes on."""

    def __init__(self, after: str | None) -> None:
        self.after = after
        self._waiting: list[Told] = []
        self._read: deque[str] = deque()
        self._settled: set[str] = set()
        self._due: dict[str, float] = {}  # by shipment, where its next event was refused
        self._attempts: dict[str, int] = {}

    def __len__(self) -> int:
        """How many are behind `after`, settled or not."""
        return len(self._read)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def add(self, told: Told) -> None:
        self._waiting.append(told)
        self._read.append(told.event.id)

    def next(self, now: float) -> Told | None:
        """The first that may go. What waits for its shipment waits as long, so none overtakes its own."""
        return next((told for told in self._waiting if self._due.get(told.event.data.shipment_id, now) <= now), None)

    def wait(self, now: float) -> float | None:
        """Seconds until one that was refused is due; None if none is."""
        return max(0.0, min(self._due.values()) - now) if self._due else None

    def again(self, told: Told, at: float) -> None:
        """It was refused and is to be tried again then; its shipment waits, others go on."""
        self._due[told.event.data.shipment_id] = at
        self._attempts[told.event.id] = self.attempts(told) + 1

    def attempts(self, told: Told) -> int:
        """How often it was refused so far."""
        return self._attempts.get(told.event.id, 0)

    def settle(self, told: Told) -> None:
        """It is accepted or given up, and the shipment's next has its turn."""
        self._waiting.remove(told)
        self._due.pop(told.event.data.shipment_id, None)
        self._attempts.pop(told.event.id, None)
        self._settled.add(told.event.id)
        while self._read and self._read[0] in self._settled:
            self.after = self._read.popleft()
            self._settled.remove(self.after)
