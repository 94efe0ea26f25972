"""Webhook endpoints of a tenant."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from pickupbox.database.connection import Connection
from pickupbox.vault import Sealed

MOST = 5


@dataclass(frozen=True, slots=True)
class Endpoint:
    tenant_id: str
    id: str
    url: str
    description: str
    event_types: list[str] | None  # None: all
    created_at: datetime
    enabled: bool
    disabled_at: datetime | None
    disabled_because: str | None
    before_until: datetime | None  # end of a rotation
    failing_since: datetime | None
    resume_at: datetime | None


@dataclass(frozen=True, slots=True)
class StoredSecrets:
    """An endpoint's key, and during a rotation the one before it, as they rest."""

    tenant_id: str
    endpoint_id: str
    secret: Sealed
    before: Sealed | None


_COLUMNS = """e.tenant_id, e.id, e.url, e.description, e.event_types, e.created_at, e.enabled, e.disabled_at,
    e.disabled_because, e.before_until, f.failing_since, f.resume_at"""
_FROM = "webhook_endpoints e LEFT JOIN webhook_failures f ON f.endpoint_id = e.id"


async def insert(
    connection: Connection,
    tenant: str,
    endpoint_id: str,
    url: str,
    description: str,
    event_types: Sequence[str] | None,
    secret: Sealed,
) -> bool:
    """Keep an endpoint in a free slot; False if the tenant has as many as it may, or there is no such tenant."""
    # Another one may take the slot at the same moment: then the next is tried.
    for _ in range(MOST):
        try:
            kept = await connection.fetchval(
                """
                INSERT INTO webhook_endpoints (tenant_id, id, slot, url, description, event_types, secret_id,
                    secret_sealed)
                SELECT $1, $2, free.slot, $3, $4, $5, $6, $7 FROM generate_series(1, $8::int) AS free (slot)
                WHERE NOT EXISTS (
                    SELECT FROM webhook_endpoints e
                    WHERE e.tenant_id = $1 AND e.slot = free.slot AND e.removed_at IS NULL
                )
                ORDER BY free.slot LIMIT 1
                ON CONFLICT DO NOTHING RETURNING true
                """,
                tenant,
                endpoint_id,
                url,
                description,
                event_types,
                secret.secret_id,
                secret.sealed,
                MOST,
            )
        except asyncpg.ForeignKeyViolationError:
            return False
        if kept:
            return True
    return False


async def list_all(connection: Connection, tenant: str) -> list[Endpoint]:
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM {_FROM} WHERE e.tenant_id = $1 AND e.removed_at IS NULL ORDER BY e.slot", tenant
    )
    return [Endpoint(*row.values()) for row in rows]


async def find(connection: Connection, tenant: str, endpoint_id: str) -> Endpoint | None:
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM {_FROM} WHERE e.tenant_id = $1 AND e.id = $2 AND e.removed_at IS NULL",
        tenant,
        endpoint_id,
    )
    return Endpoint(*row.values()) if row else None


async def read_secrets(connection: Connection, tenant: str, endpoint_id: str) -> list[Sealed]:
    """The keys that sign now, the current one first."""
    rows = await connection.fetch(
        """
        SELECT k.* FROM webhook_endpoints e
        CROSS JOIN LATERAL (VALUES (e.secret_id, e.secret_sealed),
            (CASE WHEN e.before_until > now() THEN e.before_id END, e.before_sealed)) AS k (id, sealed)
        WHERE e.tenant_id = $1 AND e.id = $2 AND e.removed_at IS NULL AND k.id IS NOT NULL
        """,
        tenant,
        endpoint_id,
    )
    return [Sealed(*row.values()) for row in rows]


async def change(
    connection: Connection, tenant: str, endpoint_id: str, description: str, event_types: Sequence[str] | None
) -> bool:
    return await _changed(
        connection,
        """
        UPDATE webhook_endpoints SET description = $3, event_types = $4
        WHERE tenant_id = $1 AND id = $2 AND removed_at IS NULL RETURNING true
        """,
        tenant,
        endpoint_id,
        description,
        event_types,
    )


async def rotate(connection: Connection, tenant: str, endpoint_id: str, secret: Sealed, overlap_hours: int) -> bool:
    """A new secret; the one before signs too until the overlap ends."""
    return await _changed(
        connection,
        """
        UPDATE webhook_endpoints SET before_id = secret_id, before_sealed = secret_sealed,
            before_until = now() + make_interval(hours => $5), secret_id = $3, secret_sealed = $4
        WHERE tenant_id = $1 AND id = $2 AND removed_at IS NULL RETURNING true
        """,
        tenant,
        endpoint_id,
        secret.secret_id,
        secret.sealed,
        overlap_hours,
    )


async def disable(connection: Connection, tenant: str, endpoint_id: str, because: str) -> bool:
    """False if there is no such enabled endpoint."""
    return await _changed(
        connection,
        """
        UPDATE webhook_endpoints SET enabled = false, disabled_at = now(), disabled_because = $3
        WHERE tenant_id = $1 AND id = $2 AND removed_at IS NULL AND enabled RETURNING true
        """,
        tenant,
        endpoint_id,
        because,
    )


async def enable(connection: Connection, tenant: str, endpoint_id: str) -> bool:
    return await _changed(
        connection,
        """
        UPDATE webhook_endpoints SET enabled = true, disabled_at = NULL, disabled_because = NULL
        WHERE tenant_id = $1 AND id = $2 AND removed_at IS NULL RETURNING true
        """,
        tenant,
        endpoint_id,
    )


async def remove(connection: Connection, tenant: str, endpoint_id: str) -> bool:
    return await _changed(
        connection,
        """
        UPDATE webhook_endpoints SET removed_at = now()
        WHERE tenant_id = $1 AND id = $2 AND removed_at IS NULL RETURNING true
        """,
        tenant,
        endpoint_id,
    )


async def _changed(connection: Connection, statement: str, *values: object) -> bool:
    return await connection.fetchval(statement, *values) is not None


async def list_hopeless(connection: Connection, days: int) -> list[tuple[str, str]]:
    """Tenant and id of enabled endpoints that did nothing but fail for so many days."""
    rows = await connection.fetch(
        """
        SELECT e.tenant_id, e.id FROM webhook_failures f JOIN webhook_endpoints e ON e.id = f.endpoint_id
        WHERE f.failing_since < now() - make_interval(days => $1) AND e.enabled AND e.removed_at IS NULL
        ORDER BY e.id LIMIT 1000
        """,
        days,
    )
    return [(row["tenant_id"], row["id"]) for row in rows]


async def lock_sealed_otherwise(connection: Connection, secret_id: str, limit: int) -> list[StoredSecrets]:
    """Endpoints with a key that this secret did not seal."""
    rows = await connection.fetch(
        """
        SELECT tenant_id, id, secret_id, secret_sealed, before_id, before_sealed FROM webhook_endpoints
        WHERE secret_id <> $1 OR before_id <> $1 ORDER BY id LIMIT $2 FOR NO KEY UPDATE
        """,
        secret_id,
        limit,
    )
    return [
        StoredSecrets(
            tenant, endpoint_id, Sealed(current_id, current), Sealed(before_id, before) if before_id else None
        )
        for tenant, endpoint_id, current_id, current, before_id, before in (row.values() for row in rows)
    ]


async def save_sealed(connection: Connection, stored: StoredSecrets) -> None:
    await connection.execute(
        """
        UPDATE webhook_endpoints SET secret_id = $3, secret_sealed = $4, before_id = $5, before_sealed = $6
        WHERE tenant_id = $1 AND id = $2
        """,
        stored.tenant_id,
        stored.endpoint_id,
        stored.secret.secret_id,
        stored.secret.sealed,
        stored.before.secret_id if stored.before else None,
        stored.before.sealed if stored.before else None,
    )
