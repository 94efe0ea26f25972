"""The roster: what the box may do on its own while the service is out of reach. Pure: time is an argument.

Two rules, and the reason for each (docs/decisions/0016):

- A reserved compartment may be somebody else's by now, so a PIN loads only while it is certain that the service still
  holds the compartment back: for 15 minutes after the last heartbeat that the service answered for this very roster.
- A parcel is its customer's, so a PIN collects unless it is certain that the pickup time is over.
"""

import json
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hmac import compare_digest

from pickupbox.devices.messages import Roster
from pickupbox.domain.doors import Purpose
from pickupbox.domain.grants import Grant, read_grant, verifier_of, write_grant

ROUNDED_UP = timedelta(seconds=1)  # at most, of the time from which a grant opens: by then it may be the customer


@dataclass(frozen=True, slots=True)
class Held:
    """The roster that the box holds, and which of its grants are used up."""

    version: int = 0
    key: bytes = b""
    grants: tuple[Grant, ...] = ()
    collected: frozenset[str] = field(default_factory=frozenset)  # marks
    opened: frozenset[str] = field(default_factory=frozenset)  # marks of grants to load whose door has been open since

    def find(self, pin: str, compartment: str | None) -> Grant | None:
        """The grant of this PIN; with a compartment, only if it is that one's."""
        verifier = verifier_of(self.key, pin)
        found = [grant for grant in self.grants if compare_digest(grant.verifier, verifier)]
        usable = [grant for grant in found if grant.mark not in self.collected]
        return next((grant for grant in usable if compartment in (None, grant.compartment)), None)

    def with_collected(self, mark: str) -> "Held":
        return replace(self, collected=self.collected | {mark})

    def with_opened(self, compartment: str) -> "Held":
        loads = (grant for grant in self.grants if grant.purpose is Purpose.LOAD)
        return replace(self, opened=self.opened | {grant.mark for grant in loads if grant.compartment == compartment})


@dataclass(frozen=True, slots=True)
class Now:
    """What the box knows of the service's clock: not before, not after; None if it does not know. And its lease."""

    earliest: datetime | None
    latest: datetime | None
    leased: bool


def purpose_now(grant: Grant, now: Now) -> Purpose | None:
    """For what the grant opens its door now; None if it must not."""
    if grant.purpose is Purpose.LOAD:
        certainly_held = now.leased and now.latest is not None and now.latest < grant.until
        return Purpose.LOAD if certainly_held else None
    if now.earliest is not None and now.earliest > grant.until:
        return None
    if grant.opens_from.timestamp() == 0 or (now.earliest is not None and now.earliest >= grant.opens_from):
        return Purpose.PICK_UP
    # Under protection a PIN corrects. In between, and without a clock, nobody can tell which of the two it would be.
    protected = now.latest is not None and now.latest < grant.opens_from - ROUNDED_UP
    return Purpose.CORRECT if protected else None


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one roster that have come so far."""

    version: int = 0
    messages: tuple[Roster, ...] = ()

    def with_part(self, message: Roster) -> "Parts":
        if message.version != self.version:
            return Parts(message.version, (message,))
        others = tuple(one for one in self.messages if one.part != message.part)
        return replace(self, messages=(*others, message))

    def whole(self, held: Held) -> Held | None:
        """The roster, once all of it is there; what was opened or collected from it before stays so."""
        if len(self.messages) < self.messages[0].parts:
            return None
        grants = tuple(read_grant(text) for message in self.messages for text in message.grants)
        marks = frozenset(grant.mark for grant in grants)
        key = bytes.fromhex(self.messages[0].key)
        return Held(self.version, key, grants, held.collected & marks, held.opened & marks)


def to_text(held: Held) -> str:
    return json.dumps(
        {
            "version": held.version,
            "key": held.key.hex(),
            "grants": [write_grant(grant) for grant in held.grants],
            "collected": sorted(held.collected),
            "opened": sorted(held.opened),
        }
    )


def from_text(text: str | None) -> Held:
    kept = json.loads(text) if text else None
    if kept is None:
        return Held()
    grants = tuple(read_grant(grant) for grant in kept["grants"])
    marks = (frozenset(kept["collected"]), frozenset(kept.get("opened", ())))
    return Held(kept["version"], bytes.fromhex(kept["key"]), grants, *marks)
