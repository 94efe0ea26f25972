"""What is counted on the street, and how it is said."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

KEPT = 50_000  # the last measurements of a kind: what a p95 needs, and no more memory than that
TOLD = 20


class Outcome(StrEnum):
    """How a shipment ended."""

    COLLECTED = "collected"
    CANCELLED = "cancelled"  # meant to be
    JAMMED = "jammed"  # meant to be: an operator freed the compartment
    FAULT = "fault"  # nobody meant it to be
    STUCK = "stuck"  # it got no further within its time
    BROKEN_OFF = "broken_off"  # the fleet was stopped before its end


WRONG = (Outcome.FAULT, Outcome.STUCK)


class Timings:
    """Seconds that something took."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=KEPT)

    def add(self, seconds: float) -> None:
        self._seconds.append(seconds)

    def milliseconds(self, share: float) -> float | None:
        """What that share of them did not exceed; None if there are none."""
        if not self._seconds:
            return None
        ordered = sorted(self._seconds)
        return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000, 1)


@dataclass
class Figures:
    boxes: int
    rate: float
    connected: int = 0
    seconds: float = 0.0  # since the first shipment might begin
    begun: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    no_room: int = 0  # shipments that did not begin: every compartment was taken
    wrong_pins: int = 0
    cables_cut: int = 0
    no_answers: int = 0  # a keypad got no answer in time, and did not know the PIN by itself
    refused: int = 0  # right PINs that a keypad did not take: closed, or refused
    door_cycles: int = 0
    messages: int = 0  # to and from boxes
    api: Timings = field(default_factory=Timings)
    pin_to_door: Timings = field(default_factory=Timings)
    troubles: deque[str] = field(default_factory=lambda: deque(maxlen=TOLD))  # the last that nobody meant to happen

    @property
    def under_way(self) -> int:
        return self.begun - self.outcomes.total()

    @property
    def went_wrong(self) -> bool:
        return any(self.outcomes[outcome] for outcome in WRONG)

    def numbers(self) -> Mapping[str, float | None]:
        """What `--json` prints."""
        return {
            "boxes": self.boxes,
            "rate": self.rate,
            "seconds": round(self.seconds, 1),
            "begun": self.begun,
            **{outcome.value: self.outcomes[outcome] for outcome in Outcome},
            "no_room": self.no_room,
            "wrong_pins": self.wrong_pins,
            "cables_cut": self.cables_cut,
            "no_answers": self.no_answers,
            "refused": self.refused,
            "door_cycles": self.door_cycles,
            "messages": self.messages,
            "api_p50_ms": self.api.milliseconds(0.5),
            "api_p95_ms": self.api.milliseconds(0.95),
            "pin_to_door_p50_ms": self.pin_to_door.milliseconds(0.5),
            "pin_to_door_p95_ms": self.pin_to_door.milliseconds(0.95),
        }
