"""Verify a tenant's audit chain piece by piece, so that a long one shows how far it has come."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pickupbox.database import audit, audit_log
from pickupbox.database.audit import Link
from pickupbox.database.connection import Connection
from pickupbox.database.invariants import hold_one_snapshot
from pickupbox.usecases.audit_chain import BEGINNING, next_link
from pickupbox.usecases.core import Core

BATCH = 1000
PIECE = 20_000
BROKEN_AT_MOST = 100


@dataclass(frozen=True, slots=True)
class Verified:
    """What a piece of the chain showed, from its first to its last number."""

    first: int | None  # None: there was nothing to look at
    last: int
    last_at: datetime | None
    broken: Sequence[str]  # entries at which it does not hold, at most 100
    complete: bool  # the end was reached
    cut_short: bool  # and it is not the end that was sealed
    sealed: int  # the number of the entry that was sealed last


async def verify_piece(core: Core, tenant: str, after: int = 0, piece: int = PIECE) -> Verified:
    """Verify the next entries after that number; the entry of that number was verified by the piece before."""
    first, last_at, broken = None, None, list[str]()
    async with core.db.transaction() as tx:
        await hold_one_snapshot(tx)
        sealed = (await audit.heads(tx, [tenant])).get(tenant)
        end = await _link_at(tx, tenant, after) if after else None
        for _ in range(0, piece, BATCH):
            links = await audit_log.links_after(tx, tenant, end.number if end else after, BATCH)
            for entry, link in links:
                # The oldest partitions may have been dropped: a chain may begin at any number.
                before = end or (BEGINNING if link.number == 1 or after else None)
                if before is not None and next_link(before, entry) != link and len(broken) < BROKEN_AT_MOST:
                    broken.append(entry.id)
                first, last_at, end = first or link.number, entry.at, link
            if len(links) < BATCH:
                return Verified(
                    first, _number(end), last_at, broken, complete=True, cut_short=sealed != end, sealed=_number(sealed)
                )
    return Verified(first, _number(end), last_at, broken, complete=False, cut_short=False, sealed=_number(sealed))


async def _link_at(tx: Connection, tenant: str, number: int) -> Link | None:
    found = await audit_log.links_after(tx, tenant, number - 1, 1)
    return found[0][1] if found and found[0][1].number == number else None


def _number(link: Link | None) -> int:
    return link.number if link else 0
