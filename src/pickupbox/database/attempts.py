"""Attempts to deliver, as they are kept."""

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
