"""Look at the audit trail, and take it away as rows."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pickupbox.database import audit_log
from pickupbox.database.audit import Entry
from pickupbox.database.audit_log import Wanted
from pickupbox.database.connection import Connection
from pickupbox.domain.identifiers import identifier
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.logs import LOOK, ROWS, LogPage

OBJECT_LOOK = 50_000
EXPORTED_AT_ONCE = 1000
EXPORTED_AT_MOST = 1_000_000
# An id's time is that of a process, an entry's that of PostgreSQL when its transaction began: so far they may be apart.
APART = timedelta(minutes=5)


ANY = Wanted()


@dataclass(frozen=True, slots=True)
class Filter:
    wanted: Wanted = ANY
    object: str | None = None


async def list_entries(core: Core, tenant: str, asked: Filter, cursor: str = "") -> LogPage[Entry]:
    """A page of the trail, newest first."""
    before, after = _bounds(core, asked.wanted)
    if cursor.startswith("aud_") and "\0" not in cursor:
        before = min(before, cursor)
    async with core.db.connection() as connection:
        rows = await _list(connection, tenant, asked, before, after, ROWS + 1)
        if len(rows) > ROWS:
            return LogPage(rows[:ROWS], rows[ROWS - 1].id)
        if asked.object is not None:
            return LogPage(rows, None)
        end = await audit_log.id_after(connection, tenant, before, after, LOOK)
    return LogPage(rows, end, _time_of(end)) if end else LogPage(rows, None)


async def export(core: Core, caller: Caller, asked: Filter) -> AsyncIterator[Sequence[Entry]]:
    """Every wanted entry, newest first, in batches; the export is an entry itself, and not in it."""
    before, after = _bounds(core, asked.wanted)
    before = min(before, core.new_id("aud"))
    async with core.db.transaction() as tx:
        await note(core, tx, caller, "audit.export", caller.tenant)
    left, look = EXPORTED_AT_MOST, EXPORTED_AT_ONCE
    while left > 0:
        async with core.db.connection() as connection:
            rows = await _list(connection, caller.tenant, asked, before, after, look, look)
            if asked.object is not None:
                end = rows[-1].id if len(rows) == look else None
            else:
                end = await audit_log.id_after(connection, caller.tenant, before, after, look)
        yield rows
        if end is None:
            return
        left, before = left - look, end


async def _list(
    connection: Connection,
    tenant: str,
    asked: Filter,
    before: str,
    after: str,
    limit: int,
    look: int | None = None,
) -> list[Entry]:
    look = OBJECT_LOOK if asked.object is not None else look or LOOK
    return await audit_log.list_before(connection, tenant, asked.object, asked.wanted, before, after, limit, look)


def _bounds(core: Core, wanted: Wanted) -> tuple[str, str]:
    """Ids between which all wanted entries lie."""
    before = "aud`" if wanted.until is None else _id_at(core, wanted.until + APART)  # ` comes after _
    after = "aud_" if wanted.since is None else _id_at(core, wanted.since - APART)
    return before, after


def _id_at(core: Core, moment: datetime) -> str:
    return identifier("aud", core.cell, max(0, int(moment.timestamp() * 1000)), bytes(10))


def _time_of(entry_id: str) -> datetime:
    milliseconds = int(entry_id.rpartition("_")[2][:12], 16)
    return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)
