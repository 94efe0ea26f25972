"""The audit trail as people look at it: newest first, and its chain piece by piece."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pickupbox.database.audit import Entry, Link
from pickupbox.database.connection import Connection

_COLUMNS = "at, tenant_id, id, actor, action, object, request_id, address"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which entries; None is any. Ids bound the walk, times are exact."""

    actors: Sequence[str] | None = None
    action: str | None = None  # the beginning of it
    since: datetime | None = None
    until: datetime | None = None


async def list_before(
    connection: Connection, tenant: str, obj: str | None, wanted: Wanted, before: str, after: str, limit: int, look: int
) -> list[Entry]:
    """The newest wanted entries with an id between the two, among the next `look`; of one object, or of all."""
    place = "tenant_id = $1" if obj is None else "object = $10 AND tenant_id = $1"
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM (
            SELECT {_COLUMNS} FROM audit WHERE {place} AND id < $2 AND id > $3 ORDER BY id DESC LIMIT $4
        ) looked
        WHERE ($5::text[] IS NULL OR actor = ANY ($5)) AND ($6::text IS NULL OR starts_with(action, $6))
          AND ($7::timestamptz IS NULL OR at >= $7) AND ($8::timestamptz IS NULL OR at < $8)
        ORDER BY id DESC LIMIT $9
        """,
        tenant,
        before,
        after,
        look,
        _list(wanted.actors),
        wanted.action,
        wanted.since,
        wanted.until,
        limit,
        *([] if obj is None else [obj]),
    )
    return [Entry(*row.values()) for row in rows]


def _list(actors: Sequence[str] | None) -> list[str] | None:
    return None if actors is None else list(actors)


async def id_after(connection: Connection, tenant: str, before: str, after: str, look: int) -> str | None:
    """The id at which a look at so many ends; None if there are not so many."""
    found: str | None = await connection.fetchval(
        """
        SELECT id FROM audit WHERE tenant_id = $1 AND id < $2 AND id > $3 ORDER BY id DESC OFFSET $4 - 1 LIMIT 1
        """,
        tenant,
        before,
        after,
        look,
    )
    return found


async def links_after(connection: Connection, tenant: str, number: int, limit: int) -> list[tuple[Entry, Link]]:
    """The next sealed entries of the chain after that number."""
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS}, chain_number, chain_hash FROM audit
        WHERE chain_hash IS NOT NULL AND tenant_id = $1 AND chain_number > $2 ORDER BY chain_number LIMIT $3
        """,
        tenant,
        number,
        limit,
    )
    found = []
    for row in rows:
        *entry, chain_number, digest = row.values()
        found.append((Entry(*entry), Link(chain_number, digest)))
    return found
