"""Sessions of people: known by the hash of a token, ended by PostgreSQL's clock."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pickupbox.database.connection import Connection

IDLE_MINUTES = 30
LONGEST_HOURS = 12
STEP_UP_MINUTES = 5
TOUCH_SECONDS = 60

_LIVE = f"""s.seen_at > now() - interval '{IDLE_MINUTES} minutes'
    AND s.begun_at > now() - interval '{LONGEST_HOURS} hours'"""


@dataclass(frozen=True, slots=True)
class Session:
    """A session as its person sees it in a list."""

    id: str
    hash: bytes
    way: str
    seen_at: datetime
    address: str | None
    agent: str | None


async def insert(
    connection: Connection,
    tenant: str,
    user_id: str,
    *,
    session_id: str,
    token_hash: bytes,
    way: str,
    address: str | None,
    agent: str | None,
) -> None:
    await connection.execute(
        """
        WITH seen AS (UPDATE users SET seen_at = now() WHERE tenant_id = $1 AND id = $2)
        INSERT INTO sessions (tenant_id, user_id, id, hash, way, address, agent) VALUES ($1, $2, $3, $4, $5, $6, $7)
        """,
        tenant,
        user_id,
        session_id,
        token_hash,
        way,
        address,
        agent,
    )


async def find(connection: Connection, token_hash: bytes) -> tuple[Any, ...] | None:
    """Who holds a live session, in the order of Visitor's fields, and whether it was touched a while ago."""
    row = await connection.fetchrow(
        f"""
        SELECT s.hash, u.tenant_id, t.name AS tenant_name, u.id, u.email, u.name, u.role, u.locale,
            coalesce(s.stepped_up_at > now() - interval '{STEP_UP_MINUTES} minutes', false),
            u.factor_since IS NOT NULL OR s.way = 'provider', s.way,
            s.seen_at < now() - interval '{TOUCH_SECONDS} seconds'
        FROM sessions s JOIN users u ON u.tenant_id = s.tenant_id AND u.id = s.user_id
        JOIN tenants t ON t.id = u.tenant_id
        WHERE s.hash = $1 AND u.removed_at IS NULL AND {_LIVE}
        """,
        token_hash,
    )
    return tuple(row.values()) if row else None


async def find_roles(connection: Connection, token_hashes: Collection[bytes]) -> list[tuple[bytes, str]]:
    """Of these sessions those that are live, each with its person's role."""
    rows = await connection.fetch(
        f"""
        SELECT s.hash, u.role FROM sessions s JOIN users u ON u.tenant_id = s.tenant_id AND u.id = s.user_id
        WHERE s.hash = ANY ($1::bytea[]) AND u.removed_at IS NULL AND {_LIVE}
        """,
        list(token_hashes),
    )
    return [(row["hash"], row["role"]) for row in rows]


async def touch(connection: Connection, tenant: str, user_id: str, token_hash: bytes) -> None:
    """Note that session and person were seen just now. Who stands in line for the row has nothing to add: skipped."""
    await connection.execute(
        f"""
        WITH touched AS (
            UPDATE sessions SET seen_at = now() WHERE hash = (
                SELECT s.hash FROM sessions s WHERE s.hash = $3 AND s.tenant_id = $1
                  AND s.seen_at < now() - interval '{TOUCH_SECONDS} seconds' AND {_LIVE}
                FOR NO KEY UPDATE SKIP LOCKED
            ) RETURNING user_id
        )
        UPDATE users SET seen_at = now() WHERE tenant_id = $1 AND id = $2 AND EXISTS (SELECT FROM touched)
        """,
        tenant,
        user_id,
        token_hash,
    )


async def step_up(connection: Connection, tenant: str, token_hash: bytes) -> bool:
    done = await connection.fetchval(
        "UPDATE sessions SET stepped_up_at = now() WHERE hash = $2 AND tenant_id = $1 RETURNING true",
        tenant,
        token_hash,
    )
    return done is not None


async def list_live(connection: Connection, tenant: str, user_id: str) -> list[Session]:
    rows = await connection.fetch(
        f"""
        SELECT s.id, s.hash, s.way, s.seen_at, s.address, s.agent FROM sessions s
        WHERE s.tenant_id = $1 AND s.user_id = $2 AND {_LIVE} ORDER BY s.seen_at DESC LIMIT 100
        """,
        tenant,
        user_id,
    )
    return [Session(*row.values()) for row in rows]


async def delete(connection: Connection, tenant: str, token_hash: bytes) -> None:
    await connection.execute("DELETE FROM sessions WHERE hash = $2 AND tenant_id = $1", tenant, token_hash)


async def delete_one(connection: Connection, tenant: str, user_id: str, session_id: str) -> bool:
    gone = await connection.fetchval(
        "DELETE FROM sessions WHERE tenant_id = $1 AND user_id = $2 AND id = $3 RETURNING true",
        tenant,
        user_id,
        session_id,
    )
    return gone is not None


async def delete_all(connection: Connection, tenant: str, user_id: str, but: bytes | None = None) -> None:
    """End all sessions of a person, but for the one that is named."""
    await connection.execute(
        "DELETE FROM sessions WHERE tenant_id = $1 AND user_id = $2 AND ($3::bytea IS NULL OR hash <> $3)",
        tenant,
        user_id,
        but,
    )


async def forget(connection: Connection, limit: int) -> int:
    """Drop sessions that are too old to be live; how many."""
    rows = await connection.fetch(
        f"""
        DELETE FROM sessions WHERE hash = ANY (ARRAY(
            SELECT hash FROM sessions WHERE begun_at < now() - interval '{LONGEST_HOURS} hours'
            ORDER BY begun_at LIMIT $1 FOR UPDATE SKIP LOCKED
        )) RETURNING id
        """,
        limit,
    )
    return len(rows)
