"""Door commands: an outbox. Written with the decision, sent after the commit, worthless once they have expired."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pickupbox.database.connection import Connection

EXPIRY_SECONDS = 30  # nobody stands before the door any more
SIMULATION_SECONDS = 24 * 3600  # virtual doors follow when their box is back


@dataclass(frozen=True, slots=True)
class Command:
    tenant_id: str
    id: str
    device_id: str
    box_id: str
    compartment_code: str
    purpose: str
    shipment_id: str
    about: str | None
    created_at: datetime
    expires_at: datetime


_COLUMNS = """tenant_id, id, device_id, box_id, compartment_code, purpose, shipment_id, about, created_at, expires_at"""


async def insert(
    connection: Connection,
    tenant: str,
    command_id: str,
    *,
    device_id: str,
    box_id: str,
    compartment_code: str,
    purpose: str,
    shipment_id: str,
    about: str | None,
    actor: str,
    seconds: int = EXPIRY_SECONDS,
) -> Command:
    row = await connection.fetchrow(
        f"""
        INSERT INTO door_commands (tenant_id, id, device_id, box_id, compartment_code, purpose, shipment_id, about,
            actor, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() + make_interval(secs => $10)) RETURNING {_COLUMNS}
        """,
        tenant,
        command_id,
        device_id,
        box_id,
        compartment_code,
        purpose,
        shipment_id,
        about,
        actor,
        seconds,
    )
    if row is None:
        raise RuntimeError("an inserted command came back without its row")
    return Command(*row.values())


async def find(connection: Connection, ids: Sequence[str]) -> dict[str, Command]:
    rows = await connection.fetch(f"SELECT {_COLUMNS} FROM door_commands WHERE id = ANY ($1::text[])", ids)
    return {row["id"]: Command(*row.values()) for row in rows}


async def mark_sent(connection: Connection, ids: Sequence[str]) -> Sequence[None]:
    await connection.execute(
        "UPDATE door_commands SET sent_at = coalesce(sent_at, now()) WHERE id = ANY ($1::text[])", ids
    )
    return [None] * len(ids)


async def take_unsent(connection: Connection, older_than_seconds: float, limit: int) -> list[Command]:
    """Commands that wait for any gateway, the oldest first; from now on they count as sent.

    One that follows from a PIN is sent by the gateway that judged it, unless that died.
    """
    rows = await connection.fetch(
        f"""
        UPDATE door_commands SET sent_at = now() WHERE id IN (
            SELECT id FROM door_commands
            WHERE sent_at IS NULL AND expires_at > now()
              AND (about IS NULL OR created_at < now() - make_interval(secs => $1))
            ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
        ) RETURNING {_COLUMNS}
        """,
        older_than_seconds,
        limit,
    )
    return sorted((Command(*row.values()) for row in rows), key=lambda command: command.created_at)


async def give_back(connection: Connection, ids: Sequence[str]) -> None:
    """They were taken and could not be sent: whoever comes next may try."""
    await connection.execute("UPDATE door_commands SET sent_at = NULL WHERE id = ANY ($1::text[])", ids)


async def note(connection: Connection, outcomes: Sequence[tuple[str, str, str | None]]) -> None:
    """What became of commands: id, outcome, reason."""
    await connection.execute(
        """
        UPDATE door_commands c SET outcome = o.outcome, outcome_reason = left(o.reason, 200)
        FROM unnest($1::text[], $2::text[], $3::text[]) AS o (id, outcome, reason) WHERE c.id = o.id
        """,
        [command for command, _, _ in outcomes],
        [outcome for _, outcome, _ in outcomes],
        [reason for _, _, reason in outcomes],
    )
