"""Grants: which PIN may open which door while the service is out of reach. Pure, and the same code on both sides.

On the wire a grant is one line: compartment, purpose, mark, from, until, verifier. The mark is the end of the
shipment's id: enough to tell the shipments of one compartment apart, and all that the box needs to know of them.
"""

import hmac
import re
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil, floor

from pickupbox.domain.doors import Purpose

LEASE = timedelta(minutes=15)  # so long a box that was not contradicted loads by itself
WITHHELD = LEASE + timedelta(minutes=1)  # for a renewal that was under way while the PIN ended
MARK_LENGTH = 12
VERIFIER_BYTES = 9
FORM = re.compile(r"[!-~]{1,16} (load|pick_up) [0-9a-f]{12} [0-9]{1,10} [0-9]{1,10} [A-Za-z0-9_-]{12}")
_COMMAND = re.compile(r"(load|correct|pick_up)\.([0-9a-f]{12})\.[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class Grant:
    compartment: str
    purpose: Purpose  # LOAD, or PICK_UP; before `opens_from` that is a correction
    mark: str
    opens_from: datetime
    until: datetime
    verifier: str


def write_grant(grant: Grant) -> str:
    # In whole seconds: never open before the time, never after it.
    times = f"{ceil(grant.opens_from.timestamp())} {floor(grant.until.timestamp())}"
    return f"{grant.compartment} {grant.purpose} {grant.mark} {times} {grant.verifier}"


def read_grant(text: str) -> Grant:
    """A grant from its line, which has the FORM."""
    compartment, purpose, mark, opens_from, until, verifier = text.split(" ")
    return Grant(compartment, Purpose(purpose), mark, _time(opens_from), _time(until), verifier)


def _time(seconds: str) -> datetime:
    return datetime.fromtimestamp(int(seconds), UTC)


def mark_of(shipment_id: str) -> str:
    return shipment_id[-MARK_LENGTH:]


def verifier_of(key: bytes, pin: str) -> str:
    """What the box keeps instead of the PIN; nobody can make it without the key."""
    return urlsafe_b64encode(hmac.digest(key, pin.encode(), "sha256")[:VERIFIER_BYTES]).decode()


def offline_command(purpose: Purpose, mark: str, chance: str) -> str:
    """The command that a box gives itself: the journal says for whom it opened, and for what."""
    return f"{purpose}.{mark}.{chance}"


def read_offline_command(command: str) -> tuple[Purpose, str] | None:
    """Purpose and mark, if the box gave itself this command."""
    found = _COMMAND.fullmatch(command)
    return (Purpose(found[1]), found[2]) if found else None
