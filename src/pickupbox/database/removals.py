"""Removals: how far the taking out of a held compartment's contents has come."""

from collections.abc import Sequence
from dataclasses import dataclass

from pickupbox.database.connection import Connection

EMERGENCY_MINUTES = 15  # so long the first person's word counts


@dataclass(frozen=True, slots=True)
class Removal:
    command_id: str | None
    cycle: str  # none, open or closed
    emergency_by: str | None  # whose word still counts


async def begin(connection: Connection, tenant: str, shipment_id: str, command_id: str) -> None:
    """A new command to open for removal; a cycle that there was counts no more."""
    await connection.execute(
        """
        INSERT INTO removals (tenant_id, shipment_id, command_id) VALUES ($1, $2, $3)
        ON CONFLICT (shipment_id) DO UPDATE SET command_id = EXCLUDED.command_id, cycle = 'none'
        """,
        tenant,
        shipment_id,
        command_id,
    )


async def void(connection: Connection, tenant: str, shipment_id: str) -> None:
    """What the door has shown counts no more; the next command begins anew."""
    await connection.execute(
        "UPDATE removals SET cycle = 'none', command_id = NULL WHERE tenant_id = $1 AND shipment_id = $2",
        tenant,
        shipment_id,
    )


async def vouch(connection: Connection, tenant: str, shipment_id: str, operator: str, reason: str) -> None:
    """The first of two people says that the compartment is empty."""
    await connection.execute(
        """
        INSERT INTO removals (tenant_id, shipment_id, emergency_by, emergency_reason, emergency_at)
        VALUES ($1, $2, $3, $4, now())
        ON CONFLICT (shipment_id) DO UPDATE SET emergency_by = EXCLUDED.emergency_by,
            emergency_reason = EXCLUDED.emergency_reason, emergency_at = EXCLUDED.emergency_at
        """,
        tenant,
        shipment_id,
        operator,
        reason,
    )


async def find(connection: Connection, tenant: str, shipment_id: str) -> Removal | None:
    row = await connection.fetchrow(
        """
        SELECT command_id, cycle, CASE WHEN emergency_at > now() - make_interval(mins => $3) THEN emergency_by END
        FROM removals WHERE tenant_id = $1 AND shipment_id = $2 FOR UPDATE
        """,
        tenant,
        shipment_id,
        EMERGENCY_MINUTES,
    )
    return Removal(*row.values()) if row else None


async def note_doors(connection: Connection, moved: Sequence[tuple[str, str | None, bool]]) -> None:
    """Shipment behind the door, command that opened it, whether it is open now.

    Only the removal's own command begins the cycle, only a close after it completes it, and any other opening voids it.
    """
    ordered = sorted(moved)
    await connection.execute(
        """
        UPDATE removals r SET cycle = CASE
            WHEN m.is_open AND m.command_id = r.command_id AND r.cycle = 'none' THEN 'open'
            WHEN NOT m.is_open AND r.cycle = 'open' THEN 'closed'
            WHEN m.is_open THEN 'none'
            ELSE r.cycle END
        FROM unnest($1::text[], $2::text[], $3::bool[]) AS m (shipment_id, command_id, is_open)
        WHERE r.shipment_id = m.shipment_id
        """,
        [shipment for shipment, _, _ in ordered],
        [command for _, command, _ in ordered],
        [is_open for _, _, is_open in ordered],
    )
