"""Replays: put events that were told before back on an endpoint's lanes, in their places."""

from dataclasses import dataclass
from datetime import datetime

from pickupbox.database.connection import Connection

# A replayed event takes its place among those that wait; the lane is due at once.
_ON_ITS_LANE = """
    ON CONFLICT (shipment_id, endpoint_id) DO UPDATE SET attempts = 0, due_at = now(), waiting = ARRAY (
        SELECT DISTINCT s FROM unnest(webhook_lanes.waiting || EXCLUDED.waiting) AS w (s) ORDER BY s
    )
"""


async def put_back(connection: Connection, tenant: str, endpoint_id: str, event_id: str) -> bool:
    """Put one event back; False if the tenant has no such event."""
    done = await connection.fetchval(
        f"""
        INSERT INTO webhook_lanes (tenant_id, endpoint_id, shipment_id, shipment_created_at, waiting)
        SELECT v.tenant_id, e.id, v.shipment_id, v.shipment_created_at, ARRAY[v.sequence] FROM webhook_endpoints e
        JOIN events v ON v.tenant_id = e.tenant_id
        WHERE e.tenant_id = $1 AND e.id = $2 AND e.removed_at IS NULL AND v.id = $3
        {_ON_ITS_LANE} RETURNING true
        """,
        tenant,
        endpoint_id,
        event_id,
    )
    return done is not None


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a tenant's events, in the order in which they were told."""

    told_in: str
    shipment_id: str
    sequence: int


NEWEST = Position(str(2**64 - 1), "", 0)


@dataclass(frozen=True, slots=True)
class Page:
    put_back: int
    latest: datetime  # when the page's last event occurred
    position: Position


# Backwards from the newest, so that the cost grows with what is asked for and not with history.
_PAGE = f"""
    WITH page AS MATERIALIZED (
        SELECT tenant_id, told_in, shipment_id, sequence, shipment_created_at, occurred_at, type FROM events
        WHERE tenant_id = $1 AND (told_in, shipment_id, sequence) < ($4::text::xid8, $5::text, $6::int)
        ORDER BY tenant_id DESC, told_in DESC, shipment_id DESC, sequence DESC LIMIT $7
    ), wanted AS (
        SELECT p.* FROM page p
        JOIN webhook_endpoints e ON e.id = $2 AND e.tenant_id = $1 AND e.removed_at IS NULL
        WHERE p.occurred_at >= $3 AND (e.event_types IS NULL OR p.type = ANY (e.event_types))
    ), back AS (
        INSERT INTO webhook_lanes (tenant_id, endpoint_id, shipment_id, shipment_created_at, waiting)
        SELECT tenant_id, $2, shipment_id, shipment_created_at, array_agg(sequence ORDER BY sequence) FROM wanted
        GROUP BY tenant_id, shipment_id, shipment_created_at ORDER BY shipment_id
        {_ON_ITS_LANE}
    )
    SELECT (SELECT count(*) FROM wanted) AS put_back, (SELECT max(occurred_at) FROM page) AS latest,
           told_in::text AS told_in, shipment_id, sequence
    FROM page ORDER BY page.told_in, shipment_id, sequence LIMIT 1
"""


async def put_page_back(
    connection: Connection, tenant: str, endpoint_id: str, since: datetime, before: Position, limit: int
) -> Page | None:
    """Put the next older events back that occurred since then and that the endpoint subscribes to."""
    row = await connection.fetchrow(
        _PAGE, tenant, endpoint_id, since, before.told_in, before.shipment_id, before.sequence, limit
    )
    if row is None:
        return None
    return Page(row["put_back"], row["latest"], Position(row["told_in"], row["shipment_id"], row["sequence"]))
