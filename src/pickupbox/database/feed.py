"""The feed: a tenant's events in an order in which nothing ever appears before what was already read."""

from dataclasses import dataclass
from datetime import datetime

from pickupbox.database.connection import Connection


@dataclass(frozen=True, slots=True)
class Told:
    """An event as the shop is told it; `data` is JSON."""

    id: str
    type: str
    occurred_at: datetime
    data: str


# Commits do not come in the order of anything that was written before them. So the feed ends where the oldest
# transaction that still runs may yet write: told_in is never lower than the transaction's own number.
# From the place on, the tenant's index gives the order, partition by partition; the lateral join keeps it.
# A place that is not there leaves one row that says so.
READ_AFTER = """
    SELECT place.told_in IS NOT NULL AS known, e.id, e.type, e.occurred_at, e.data
    FROM (VALUES (1)) AS always
    LEFT JOIN (
        SELECT told_in, shipment_id, sequence FROM events WHERE tenant_id = $1 AND id = $2
        UNION ALL
        SELECT '0', '', 0 WHERE $2 IS NULL
    ) AS place ON true
    LEFT JOIN LATERAL (
        SELECT id, type, occurred_at, data FROM events
        WHERE tenant_id = $1
          AND (told_in, shipment_id, sequence) > (place.told_in, place.shipment_id, place.sequence)
          AND told_in < pg_snapshot_xmin(pg_current_snapshot())
        ORDER BY told_in, shipment_id, sequence LIMIT $3
    ) AS e ON true
"""


async def read_after(connection: Connection, tenant: str, after: str | None, limit: int) -> list[Told] | None:
    """The tenant's events that follow the one called `after`, or the oldest; None if there is no such event."""
    rows = await connection.fetch(READ_AFTER, tenant, after, limit)
    if not rows[0]["known"]:
        return None
    return [Told(*list(row.values())[1:]) for row in rows if row["id"] is not None]
