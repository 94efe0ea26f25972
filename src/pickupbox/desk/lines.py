"""How `pickupbox listen` shows an event: a line to read, or a line of JSON. Pure."""

import json
from dataclasses import dataclass

from pickupbox.desk.turns import Told

_COLOURS = {"accepted": "green", "refused": "yellow", "given_up": "red"}
_NO_ANSWER = {
    "connect": "no connection",
    "cut": "cut off before its answer",
    "timeout": "no answer in time",
    "protocol": "no answer of HTTP",
    "tls": "no valid certificate",
    "name": "no such name",
    "refused_address": "an address that webhooks do not go to",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the local server did with it."""

    word: str  # accepted, refused or given_up
    status: int | None
    error: str | None
    milliseconds: float
    attempt: int
    again_in: float | None = None

    @property
    def colour(self) -> str:
        return _COLOURS[self.word]


def line_of(told: Told) -> str:
    event, data = told.event, told.event.data
    where = f"{data.box_name} {data.compartment_code or ''}".rstrip()
    return "  ".join(
        [
            f"{event.occurred_at.astimezone():%H:%M:%S}",
            f"{event.type:<14}",
            f"{_plain(data.external_order_id):<20}",
            data.shipment_id,
            f"{_plain(where):<20}",
        ]
    )


def answer_of(told: Told, outcome: Outcome) -> str:
    """What the local server did, and what comes of it."""
    if outcome.status is not None:
        answered = f"{outcome.status} in {outcome.milliseconds:.0f} ms"
    else:
        answered = _NO_ANSWER.get(outcome.error or "", outcome.error or "no answer")
    if outcome.again_in is not None:
        return f"{answered}, again in {outcome.again_in:.0f} s"
    if outcome.word == "given_up":
        begin = f"--after {told.previous}" if told.previous else "--from-start"
        return f"{answered}, given up after {outcome.attempt} attempts. To have it again: pickupbox listen {begin} …"
    return answered if outcome.attempt == 1 else f"{answered}, at attempt {outcome.attempt}"


def json_of(told: Told, outcome: Outcome | None) -> str:
    """The event as its webhook has it, and what came of it."""
    forwarded = outcome and {
        "outcome": outcome.word,
        "status": outcome.status,
        "error": outcome.error,
        "milliseconds": round(outcome.milliseconds, 1),
        "attempt": outcome.attempt,
    }
    return json.dumps({"event": json.loads(told.body), "forwarded": forwarded}, ensure_ascii=False)


def _plain(text: str) -> str:
    """A shop's own text, without what would move the terminal's cursor."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
