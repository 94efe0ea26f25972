"""Seal the audit trail into one hash chain per tenant, and verify it."""

import hashlib

import orjson

from pickupbox.database import audit
from pickupbox.database.audit import Entry, Link
from pickupbox.database.invariants import hold_one_snapshot
from pickupbox.telemetry import SEALED
from pickupbox.usecases.core import Core

BEGINNING = Link(0, bytes(32))


def next_link(before: Link, entry: Entry) -> Link:
    """The link that binds an entry to everything before it."""
    number = before.number + 1
    content = orjson.dumps(
        [
            number,
            entry.at.isoformat(),
            entry.tenant_id,
            entry.id,
            entry.actor,
            entry.action,
            entry.object,
            entry.request_id,
            entry.address,
        ]
    )
    return Link(number, hashlib.sha256(before.hash + content).digest())


async def seal(core: Core, limit: int) -> int:
    """Seal what is not sealed yet; 0 if there is nothing or another worker is at it."""
    async with core.db.transaction() as tx:
        if not await audit.become_sealer(tx):
            return 0
        entries = await audit.unsealed(tx, limit)
        if not entries:
            return 0
        heads = await audit.heads(tx, list({entry.tenant_id for entry in entries}))
        sealed = []
        for entry in entries:
            link = next_link(heads.get(entry.tenant_id, BEGINNING), entry)
            heads[entry.tenant_id] = link
            sealed.append((entry, link))
        await audit.seal(tx, sealed, heads)
    SEALED.inc(len(sealed))
    return len(sealed)


async def broken_links(core: Core, tenant: str | None = None) -> list[str]:
    """The audit entries at which a chain does not hold, at most 100; and chains cut short at their end."""
    broken: list[str] = []
    ends: dict[str, Link] = {}
    async with core.db.transaction() as tx:
        await hold_one_snapshot(tx)
        async for entry, link in audit.chain(tx, tenant):
            # The oldest partitions may have been dropped: a chain may begin at any number.
            before = ends.get(entry.tenant_id)
            if (before is not None and next_link(before, entry) != link) or (
                before is None and link.number == 1 and next_link(BEGINNING, entry) != link
            ):
                broken.append(entry.id)
            ends[entry.tenant_id] = link
            if len(broken) >= 100:
                break
        heads = await audit.heads(tx, list(ends))
    broken.extend(f"end of {tenant_id}" for tenant_id, end in ends.items() if heads.get(tenant_id) != end)
    return broken[:100]
