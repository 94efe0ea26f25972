"""Links that work once."""

from dataclasses import dataclass
from datetime import datetime

from pickupbox.database.connection import Connection


@dataclass(frozen=True, slots=True)
class StoredLink:
    tenant_id: str
    user_id: str
    purpose: str
    until: datetime


_COLUMNS = "tenant_id, user_id, purpose, until"


async def insert(
    connection: Connection, tenant: str, user_id: str, token_hash: bytes, purpose: str, minutes: int
) -> None:
    await connection.execute(
        """
        INSERT INTO links (tenant_id, user_id, hash, purpose, until)
        VALUES ($1, $2, $3, $4, now() + make_interval(mins => $5))
        """,
        tenant,
        user_id,
        token_hash,
        purpose,
        minutes,
    )


async def find(connection: Connection, token_hash: bytes) -> StoredLink | None:
    row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM links WHERE hash = $1 AND until > now()", token_hash)
    return StoredLink(*row.values()) if row else None


async def use(connection: Connection, token_hash: bytes) -> StoredLink | None:
    """The link, and nobody can use it again."""
    row = await connection.fetchrow(
        f"DELETE FROM links WHERE hash = $1 AND until > now() RETURNING {_COLUMNS}", token_hash
    )
    return StoredLink(*row.values()) if row else None


async def delete_all(connection: Connection, tenant: str, user_id: str) -> None:
    await connection.execute("DELETE FROM links WHERE tenant_id = $1 AND user_id = $2", tenant, user_id)


async def newest_invitations(connection: Connection, tenant: str) -> dict[str, datetime]:
    """Until when the invitations of a tenant's people work."""
    rows = await connection.fetch(
        """
        SELECT user_id, max(until) AS until FROM links
        WHERE tenant_id = $1 AND purpose = 'invitation' AND until > now() GROUP BY user_id
        """,
        tenant,
    )
    return {row["user_id"]: row["until"] for row in rows}


async def forget(connection: Connection, limit: int) -> int:
    """Drop links whose time is over; how many."""
    rows = await connection.fetch(
        """
        DELETE FROM links WHERE hash = ANY (ARRAY(
            SELECT hash FROM links WHERE until < now() ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED
        )) RETURNING purpose
        """,
        limit,
    )
    return len(rows)
