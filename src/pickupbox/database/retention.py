"""Erasing what is no longer needed."""

from pickupbox.database.connection import Connection


async def erase_names(connection: Connection, days: int, limit: int) -> int:
    """Erase the customer's name of shipments whose compartment was released that many days ago."""
    rows = await connection.fetch(
        """
        UPDATE shipments SET customer_name = NULL
        WHERE (tenant_id, id) IN (
            SELECT tenant_id, id FROM shipments
            WHERE released_at < now() - make_interval(days => $1) AND released_at IS NOT NULL
              AND customer_name IS NOT NULL
            ORDER BY released_at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED
        )
        RETURNING id
        """,
        days,
        limit,
    )
    return len(rows)
