"""Tenants and their API keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from pickupbox.database.connection import Connection


@dataclass(frozen=True, slots=True)
class Tenant:
    id: str
    name: str
    rate_per_second: int
    rate_burst: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as we know it: never the key itself."""

    tenant_id: str
    id: str
    name: str
    shown: str
    secret_id: str
    created_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None
    revoke_at: datetime | None = None  # when it ends by itself, after a rotation

    def lives(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.revoke_at is None or self.revoke_at > now)


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """Who a live key belongs to, and how fast its tenant may ask."""

    tenant_id: str
    key_id: str
    rate_per_second: int
    rate_burst: int


_KEY = "tenant_id, id, name, shown, secret_id, created_at, revoked_at, last_used_at, revoke_at"
_LIVE = "revoked_at IS NULL AND (revoke_at IS NULL OR revoke_at > now())"


async def insert(connection: Connection, tenant_id: str, name: str) -> None:
    await connection.execute("INSERT INTO tenants (id, name) VALUES ($1, $2)", tenant_id, name)


async def list_all(connection: Connection) -> list[Tenant]:
    rows = await connection.fetch(
        "SELECT id, name, rate_per_second, rate_burst, created_at FROM tenants ORDER BY name, id LIMIT 1000"
    )
    return [Tenant(*row.values()) for row in rows]


async def is_known(connection: Connection, tenant: str) -> bool:
    known: bool = await connection.fetchval("SELECT EXISTS (SELECT FROM tenants WHERE id = $1)", tenant)
    return known


async def set_rate(connection: Connection, tenant: str, per_second: int, burst: int) -> bool:
    changed = await connection.fetchval(
        "UPDATE tenants SET rate_per_second = $2, rate_burst = $3 WHERE id = $1 RETURNING true",
        tenant,
        per_second,
        burst,
    )
    return changed is not None


async def insert_key(
    connection: Connection, tenant: str, key_id: str, name: str, *, shown: str, secret_id: str, hmac: bytes
) -> bool:
    """Keep a key in the first free slot of its name; False if both slots hold a live one or there is no such
    tenant."""
    await connection.execute(
        """
        UPDATE api_keys SET revoked_at = revoke_at
        WHERE tenant_id = $1 AND name = $2 AND revoked_at IS NULL AND revoke_at <= now()
        """,
        tenant,
        name,
    )
    try:
        async with connection.transaction():
            kept = await connection.fetchval(
                """
                INSERT INTO api_keys (tenant_id, id, name, slot, shown, secret_id, hmac)
                SELECT $1, $2, $3, free.slot, $4, $5, $6 FROM generate_series(1, 2) AS free (slot)
                WHERE NOT EXISTS (
                    SELECT FROM api_keys k
                    WHERE k.tenant_id = $1 AND k.name = $3 AND k.slot = free.slot AND k.revoked_at IS NULL
                )
                ORDER BY free.slot LIMIT 1
                RETURNING true
                """,
                tenant,
                key_id,
                name,
                shown,
                secret_id,
                hmac,
            )
    except (asyncpg.UniqueViolationError, asyncpg.ForeignKeyViolationError):
        return False
    return kept is not None


async def list_keys(connection: Connection, tenant: str) -> list[ApiKey]:
    rows = await connection.fetch(
        f"SELECT {_KEY} FROM api_keys WHERE tenant_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1000", tenant
    )
    return [ApiKey(*row.values()) for row in rows]


async def find_key(connection: Connection, tenant: str, key_id: str) -> ApiKey | None:
    row = await connection.fetchrow(f"SELECT {_KEY} FROM api_keys WHERE tenant_id = $1 AND id = $2", tenant, key_id)
    return ApiKey(*row.values()) if row else None


async def revoke_key(connection: Connection, tenant: str, key_id: str) -> bool:
    """False if the tenant has no such live key."""
    revoked = await connection.fetchval(
        f"UPDATE api_keys SET revoked_at = now() WHERE tenant_id = $1 AND id = $2 AND {_LIVE} RETURNING true",
        tenant,
        key_id,
    )
    return revoked is not None


async def revoke_key_in(connection: Connection, tenant: str, key_id: str, hours: int | None) -> bool:
    """Let a live key end after so many hours, or not by itself; False if the tenant has no such live key."""
    changed = await connection.fetchval(
        f"""
        UPDATE api_keys SET revoke_at = now() + make_interval(hours => $3)
        WHERE tenant_id = $1 AND id = $2 AND {_LIVE} RETURNING true
        """,
        tenant,
        key_id,
        hours,
    )
    return changed is not None


async def find_key_holders(connection: Connection, wanted: Sequence[tuple[bytes, ...]]) -> Sequence[KeyHolder | None]:
    """Who holds each key; a key is asked for by its HMACs, one per secret that is in use."""
    rows = await connection.fetch(
        """
        SELECT w.place, k.tenant_id, k.id, t.rate_per_second, t.rate_burst
        FROM unnest($1::bytea[], $2::int[]) AS w (hmac, place)
        -- Lateral: a plan made while the table is empty must go by the key, too.
        CROSS JOIN LATERAL (SELECT * FROM api_keys WHERE hmac = w.hmac LIMIT 1) AS k
        JOIN tenants t ON t.id = k.tenant_id
        WHERE k.revoked_at IS NULL AND (k.revoke_at IS NULL OR k.revoke_at > now())
        """,
        [hmac for hmacs in wanted for hmac in hmacs],
        [place for place, hmacs in enumerate(wanted) for _ in hmacs],
    )
    holders: list[KeyHolder | None] = [None] * len(wanted)
    for place, *holder in (row.values() for row in rows):
        holders[place] = KeyHolder(*holder)
    return holders


async def note_key_use(connection: Connection, used: dict[tuple[str, str], datetime]) -> None:
    """Write down, for many keys at once, when each was last used."""
    await connection.execute(
        """
        UPDATE api_keys k SET last_used_at = u.at
        FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS u (tenant_id, id, at)
        WHERE k.tenant_id = u.tenant_id AND k.id = u.id
          AND (k.last_used_at IS NULL OR k.last_used_at < u.at)
        """,
        [tenant for tenant, _ in used],
        [key_id for _, key_id in used],
        list(used.values()),
    )
