"""Doors as their sensors report them, and the shipments behind them."""

from collections.abc import Sequence

from pickupbox.database.connection import Connection
from pickupbox.database.shipments import LOCKED, Locked, locked_of


def standing(report: str, box_id: str, code: str) -> str:
    """How a door stands, as an SQL expression: by its last report; one that never moved, by the last heartbeat of its
    box; null if there was none."""
    return f"""
        coalesce({report}, (
            SELECT {code} = ANY (open_doors) FROM devices
            WHERE box_id = {box_id} AND coalesce(revoked_at, 'infinity') = 'infinity' LIMIT 1
        ))
    """


async def lock_behind(connection: Connection, doors: Sequence[tuple[str, str, str]]) -> dict[tuple[str, str], Locked]:
    """The shipments that hold these compartments (tenant, box, code) now, by box and code; ours until the commit.

    One that is released while we wait for its row holds its compartment no more, so it is not among them.
    """
    rows = await connection.fetch(
        f"""
        WITH held AS MATERIALIZED (
            SELECT c.tenant_id, c.shipment_id
            FROM unnest($1::text[], $2::text[], $3::text[]) AS d (tenant_id, box_id, code)
            CROSS JOIN LATERAL (
                SELECT * FROM compartments WHERE tenant_id = d.tenant_id AND box_id = d.box_id AND code = d.code LIMIT 1
            ) AS c
            WHERE c.shipment_id IS NOT NULL ORDER BY c.shipment_id
        )
        SELECT s.* FROM held h CROSS JOIN LATERAL (
            {LOCKED} WHERE s.id = h.shipment_id AND s.tenant_id = h.tenant_id FOR NO KEY UPDATE OF s
        ) AS s
        """,
        [tenant for tenant, _, _ in doors],
        [box_id for _, box_id, _ in doors],
        [code for _, _, code in doors],
    )
    locked = [locked_of(row) for row in rows]
    return {
        (one.shipment.box_id, one.shipment.compartment_code): one for one in locked if one.shipment.released_at is None
    }


async def save(connection: Connection, doors: Sequence[tuple[str, str, str, bool]]) -> None:
    """Tenant, box, code, and whether the door is open; doors of compartments that there are none of are left out."""
    await connection.execute(
        """
        INSERT INTO doors (tenant_id, box_id, code, is_open)
        SELECT c.tenant_id, c.box_id, c.code, d.is_open
        FROM unnest($1::text[], $2::text[], $3::text[], $4::bool[]) AS d (tenant_id, box_id, code, is_open)
        JOIN compartments c ON c.tenant_id = d.tenant_id AND c.box_id = d.box_id AND c.code = d.code
        ORDER BY c.box_id, c.code
        ON CONFLICT (box_id, code) DO UPDATE SET is_open = EXCLUDED.is_open, changed_at = now()
        """,
        [tenant for tenant, _, _, _ in doors],
        [box_id for _, box_id, _, _ in doors],
        [code for _, _, code, _ in doors],
        [is_open for _, _, _, is_open in doors],
    )


async def take_out_of_service(connection: Connection, doors: Sequence[tuple[str, str, str]]) -> None:
    """Nobody knows what lies behind them: they are not offered again before a person has looked."""
    await connection.execute(
        """
        UPDATE compartments c SET in_service = false
        FROM unnest($1::text[], $2::text[], $3::text[]) AS d (tenant_id, box_id, code)
        WHERE c.tenant_id = d.tenant_id AND c.box_id = d.box_id AND c.code = d.code
        """,
        [tenant for tenant, _, _ in doors],
        [box_id for _, box_id, _ in doors],
        [code for _, _, code in doors],
    )
