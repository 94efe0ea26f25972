"""Devices, their one-time codes and their certificates."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from pickupbox.database.connection import Connection


@dataclass(frozen=True, slots=True)
class Device:
    """A device as its tenant sees it."""

    id: str
    box_id: str
    enrolled_at: datetime | None
    certificate_until: datetime | None
    revoked_at: datetime | None
    last_seen_at: datetime | None
    software: str | None
    presence: str


# Online is who was heard within four heartbeats and of whom the broker did not say that it is gone. Silent is who was
# not heard although the broker said nothing: its last word is lost when no gateway listens.
PRESENCE = """
    CASE WHEN last_seen_at IS NULL THEN 'never' WHEN NOT online THEN 'offline'
        WHEN last_seen_at < now() - interval '60 seconds' THEN 'silent' ELSE 'online' END
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A device that waits for its code; `at` is PostgreSQL's clock."""

    code_hmac: bytes
    at: datetime


@dataclass(frozen=True, slots=True)
class Renewable:
    """A device that has certificates: how many still count, when the first of them ends; `at` is PostgreSQL's clock."""

    certificates: int
    first_until: datetime
    at: datetime


async def lock_unseen(connection: Connection, tenant: str, box_id: str) -> list[str]:
    """The box's device if it lives and was never seen; its row is locked."""
    rows = await connection.fetch(
        """
        SELECT id FROM devices
        WHERE tenant_id = $1 AND box_id = $2 AND revoked_at IS NULL AND last_seen_at IS NULL FOR UPDATE
        """,
        tenant,
        box_id,
    )
    return [row["id"] for row in rows]


async def insert(
    connection: Connection, tenant: str, device_id: str, box_id: str, code_hmac: bytes, hours: int
) -> bool:
    """A device that waits for its code; False if the tenant has no such box, or a device speaks for it."""
    try:
        async with connection.transaction():
            await connection.execute(
                """
                INSERT INTO devices (tenant_id, id, box_id, code_hmac, code_until)
                VALUES ($1, $2, $3, $4, now() + make_interval(hours => $5))
                """,
                tenant,
                device_id,
                box_id,
                code_hmac,
                hours,
            )
    except (asyncpg.UniqueViolationError, asyncpg.ForeignKeyViolationError):
        return False
    return True


async def lock_waiting(connection: Connection, device_id: str, failures: int) -> Waiting | None:
    """The device if it still waits for its code and that was not guessed at too often; its row is locked."""
    row = await connection.fetchrow(
        """
        SELECT code_hmac, now() FROM devices
        WHERE id = $1 AND revoked_at IS NULL AND code_until > now() AND code_failures < $2 FOR NO KEY UPDATE
        """,
        device_id,
        failures,
    )
    return Waiting(*row.values()) if row else None


async def note_wrong_code(connection: Connection, device_id: str) -> None:
    await connection.execute("UPDATE devices SET code_failures = code_failures + 1 WHERE id = $1", device_id)


async def lock_renewable(connection: Connection, device_id: str) -> Renewable | None:
    """The device if it is not revoked and has a certificate that has not ended; its row is locked."""
    row = await connection.fetchrow(
        """
        WITH device AS (
            SELECT id FROM devices WHERE id = $1 AND revoked_at IS NULL FOR NO KEY UPDATE
        )
        SELECT count(*), min(c.until), now() FROM device
        JOIN device_certificates c ON c.device_id = device.id AND c.until > now()
        """,
        device_id,
    )
    return Renewable(*row.values()) if row and row["count"] else None


async def save_certificate(connection: Connection, device_id: str, serial: str, until: datetime) -> None:
    """The device's newest certificate. A code is used up by it, and certificates that have ended are forgotten."""
    await connection.execute(
        """
        UPDATE devices SET certificate_serial = $2, certificate_until = $3, enrolled_at = coalesce(enrolled_at, now()),
            code_hmac = NULL, code_until = NULL
        WHERE id = $1
        """,
        device_id,
        serial,
        until,
    )
    await connection.execute(
        "DELETE FROM device_certificates WHERE device_id = $1 AND until <= now() AND revoked_at IS NULL", device_id
    )
    await connection.execute(
        "INSERT INTO device_certificates (device_id, serial, until) VALUES ($1, $2, $3)", device_id, serial, until
    )


async def revoke(connection: Connection, tenant: str, device_id: str) -> bool:
    """Revoke a device with all its certificates; inside a transaction. False if the tenant has no such live one."""
    revoked = await connection.fetchval(
        """
        UPDATE devices SET revoked_at = now(), code_hmac = NULL, code_until = NULL
        WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL RETURNING true
        """,
        tenant,
        device_id,
    )
    if revoked:
        await connection.execute("UPDATE device_certificates SET revoked_at = now() WHERE device_id = $1", device_id)
        await connection.execute(
            "UPDATE journals SET superseded_at = now() WHERE device_id = $1 AND superseded_at IS NULL", device_id
        )
    return revoked is not None


async def list_devices(connection: Connection, tenant: str) -> list[Device]:
    """The tenant's devices, the newest first."""
    rows = await connection.fetch(
        f"""
        SELECT id, box_id, enrolled_at, certificate_until, revoked_at, last_seen_at, software, {PRESENCE} FROM devices
        WHERE tenant_id = $1 ORDER BY id DESC LIMIT 1000
        """,
        tenant,
    )
    return [Device(*row.values()) for row in rows]


async def count_by_presence(connection: Connection) -> dict[str, int]:
    """How many devices that are not revoked are online, silent, offline, or were never heard."""
    rows = await connection.fetch(
        f"SELECT {PRESENCE} AS presence, count(*) FROM devices WHERE revoked_at IS NULL GROUP BY 1"
    )
    return dict.fromkeys(("online", "silent", "offline", "never"), 0) | {row["presence"]: row["count"] for row in rows}


async def list_revoked(connection: Connection) -> list[tuple[str, datetime]]:
    """The serials of revoked certificates that have not ended yet, and since when they are revoked."""
    rows = await connection.fetch(
        """
        SELECT serial, revoked_at FROM device_certificates
        WHERE revoked_at IS NOT NULL AND until > now() ORDER BY until, serial
        """
    )
    return [(row["serial"], row["revoked_at"]) for row in rows]


async def box_of(connection: Connection, device_id: str) -> tuple[str, str] | None:
    """Tenant and box of a device; None if it is not known or revoked."""
    row = await connection.fetchrow(
        "SELECT tenant_id, box_id FROM devices WHERE id = $1 AND revoked_at IS NULL", device_id
    )
    return (row["tenant_id"], row["box_id"]) if row else None


async def living(connection: Connection, ids: Collection[str]) -> set[str]:
    """Those of the devices that are known and not revoked."""
    rows = await connection.fetch(
        """
        SELECT d.id FROM unnest($1::text[]) AS n (id)
        CROSS JOIN LATERAL (SELECT id FROM devices WHERE id = n.id AND revoked_at IS NULL LIMIT 1) AS d
        """,
        list(ids),
    )
    return {row["id"] for row in rows}


async def device_of(connection: Connection, tenant: str, box_id: str) -> str | None:
    """The device that opens the box's doors; None if it has none that lives."""
    device: str | None = await connection.fetchval(
        "SELECT id FROM devices WHERE tenant_id = $1 AND box_id = $2 AND revoked_at IS NULL", tenant, box_id
    )
    return device


async def all_seen(connection: Connection, ids: Sequence[str], since: datetime) -> bool:
    """Whether each of these devices was seen since then."""
    seen: int = await connection.fetchval(
        "SELECT count(*) FROM devices WHERE id = ANY ($1::text[]) AND last_seen_at >= $2", ids, since
    )
    return seen == len(ids)
