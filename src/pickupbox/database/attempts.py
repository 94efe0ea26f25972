"""Attempts to deliver, as they are kept; and lanes that nobody will ever be told."""

from dataclasses import dataclass
from datetime import datetime

from pickupbox.database.connection import Connection


@dataclass(frozen=True, slots=True)
class Attempt:
    at: datetime
    event_id: str
    event_type: str
    shipment_id: str
    number: int
    outcome: str
    status: int | None
    error: str | None
    milliseconds: int
    answer: str


async def list_latest(connection: Connection, tenant: str, endpoint_id: str, limit: int) -> list[Attempt]:
    rows = await connection.fetch(
        """
        SELECT at, event_id, event_type, shipment_id, number, outcome, status, error, milliseconds, answer
        FROM webhook_attempts WHERE tenant_id = $1 AND endpoint_id = $2 ORDER BY at DESC LIMIT $3
        """,
        tenant,
        endpoint_id,
        limit,
    )
    return [Attempt(*row.values()) for row in rows]


async def drop_lanes(connection: Connection, days: int, limit: int) -> int:
    """Drop lanes of endpoints that were removed, or disabled so many days ago; how many."""
    rows = await connection.fetch(
        """
        DELETE FROM webhook_lanes WHERE (shipment_id, endpoint_id) IN (
            SELECT l.shipment_id, l.endpoint_id FROM webhook_endpoints e
            CROSS JOIN LATERAL (
                SELECT shipment_id, endpoint_id FROM webhook_lanes
                WHERE endpoint_id = e.id ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
            ) l
            WHERE e.removed_at IS NOT NULL OR e.disabled_at < now() - make_interval(days => $1)
            LIMIT $2
        ) RETURNING true
        """,
        days,
        limit,
    )
    return len(rows)
