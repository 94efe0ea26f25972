"""Keypads: their failures, and the shipment that a PIN belongs to."""

from collections.abc import Sequence
from datetime import datetime

from pickupbox.database.connection import Connection
from pickupbox.database.shipments import COLUMNS, shipment_of
from pickupbox.domain.shipment import Shipment
from pickupbox.domain.throttle import Keypad


async def lock(connection: Connection, tenant: str, box_id: str) -> tuple[Keypad, datetime]:
    """The keypad, ours until the commit, and PostgreSQL's time: PINs of one box are judged one after the other."""
    found = await _lock(connection, tenant, box_id)
    if found is None:
        await connection.execute(
            """
            INSERT INTO keypads (tenant_id, box_id, day, day_failures, failures, closings)
            VALUES ($1, $2, current_date, 0, 0, 0) ON CONFLICT DO NOTHING
            """,
            tenant,
            box_id,
        )
        found = await _lock(connection, tenant, box_id)
    if found is None:
        raise RuntimeError("a keypad that was just made is not there")
    return found


async def _lock(connection: Connection, tenant: str, box_id: str) -> tuple[Keypad, datetime] | None:
    row = await connection.fetchrow(
        """
        SELECT day, day_failures, failures, closings, closed_until, clock_timestamp() AS now FROM keypads
        WHERE tenant_id = $1 AND box_id = $2 FOR UPDATE
        """,
        tenant,
        box_id,
    )
    if row is None:
        return None
    *keypad, now = row.values()
    return Keypad(*keypad), now


async def save(connection: Connection, tenant: str, box_id: str, keypad: Keypad) -> None:
    await connection.execute(
        """
        UPDATE keypads SET day = $3, day_failures = $4, failures = $5, closings = $6, closed_until = $7
        WHERE tenant_id = $1 AND box_id = $2
        """,
        tenant,
        box_id,
        keypad.day,
        keypad.day_failures,
        keypad.failures,
        keypad.closings,
        keypad.closed_until,
    )


async def find_by_pin(
    connection: Connection, tenant: str, box_id: str, lookups: Sequence[bytes], compartment: str | None
) -> Shipment | None:
    """The live shipment of the box that has this PIN, and lies in the compartment if one is named."""
    row = await connection.fetchrow(
        f"""
        SELECT {COLUMNS} FROM shipments s
        WHERE s.box_id = $2 AND s.pin_lookup = ANY ($3::bytea[]) AND s.released_at IS NULL AND s.tenant_id = $1
          AND ($4::text IS NULL OR s.compartment_code = $4)
        """,
        tenant,
        box_id,
        lookups,
        compartment,
    )
    return shipment_of(row) if row else None
