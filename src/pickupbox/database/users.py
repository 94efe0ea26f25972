"""People of a tenant."""

from dataclasses import dataclass
from datetime import datetime

from pickupbox.database.connection import Connection, Row
from pickupbox.domain.roles import Role
from pickupbox.vault import Sealed

MOST = 500


@dataclass(frozen=True, slots=True)
class User:
    tenant_id: str
    id: str
    email: str
    name: str
    role: Role
    locale: str | None
    password_hash: str | None  # None: an invitation waits, or the firm's provider lets them in
    factor: Sealed | None
    factor_since: datetime | None  # None: no second factor, or one that is not confirmed yet
    factor_step: int
    created_at: datetime
    seen_at: datetime | None


_COLUMNS = """tenant_id, id, email, name, role, locale, password_hash, factor_secret_id, factor_sealed, factor_since,
    factor_step, created_at, seen_at"""


def _user_of(row: Row) -> User:
    tenant, user_id, email, name, role, locale, password, secret_id, sealed, *rest = row.values()
    factor = Sealed(secret_id, sealed) if secret_id is not None else None
    return User(tenant, user_id, email, name, Role(role), locale, password, factor, *rest)


async def insert(
    connection: Connection,
    tenant: str,
    user_id: str,
    *,
    email: str,
    name: str,
    role: Role,
    password_hash: str | None,
    locale: str | None,
) -> bool:
    """False if someone has the e-mail already."""
    kept = await connection.fetchval(
        """
        INSERT INTO users (tenant_id, id, email, name, role, password_hash, locale)
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING true
        """,
        tenant,
        user_id,
        email,
        name,
        role,
        password_hash,
        locale,
    )
    return kept is not None


async def find(connection: Connection, tenant: str, user_id: str) -> User | None:
    """A person who is still there."""
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM users WHERE tenant_id = $1 AND id = $2 AND removed_at IS NULL", tenant, user_id
    )
    return _user_of(row) if row else None


async def lock(connection: Connection, tenant: str, user_id: str) -> User | None:
    """A person who is still there, ours until the commit."""
    row = await connection.fetchrow(
        f"""
        SELECT {_COLUMNS} FROM users WHERE tenant_id = $1 AND id = $2 AND removed_at IS NULL
        FOR NO KEY UPDATE
        """,
        tenant,
        user_id,
    )
    return _user_of(row) if row else None


async def find_by_id(connection: Connection, user_id: str) -> User | None:
    row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM users WHERE id = $1 AND removed_at IS NULL", user_id)
    return _user_of(row) if row else None


async def find_by_email(connection: Connection, email: str) -> User | None:
    """A person who is still there, in whichever tenant: before sign-in nobody knows which it is."""
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM users WHERE email = $1 AND coalesce(removed_at, 'infinity') = 'infinity'", email
    )
    return _user_of(row) if row else None


async def list_all(connection: Connection, tenant: str) -> list[User]:
    """The people of a tenant, those who were removed left out."""
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM users WHERE tenant_id = $1 AND removed_at IS NULL ORDER BY name, id LIMIT {MOST}
        """,
        tenant,
    )
    return [_user_of(row) for row in rows]


async def clock(connection: Connection) -> float:
    """PostgreSQL's time, in seconds since 1970."""
    now: float = await connection.fetchval("SELECT extract(epoch FROM clock_timestamp())::float8")
    return now


async def names(connection: Connection, tenant: str, user_ids: list[str]) -> dict[str, str]:
    """What people are called, also those who were removed: for lists that name who did something."""
    rows = await connection.fetch(
        "SELECT id, name FROM users WHERE tenant_id = $1 AND id = ANY ($2::text[])", tenant, user_ids
    )
    return {row["id"]: row["name"] for row in rows}


async def lock_team(connection: Connection, tenant: str) -> bool:
    """Until the commit nobody else changes who is an owner, or how many people there are; False without a tenant."""
    there = await connection.fetchval("SELECT true FROM tenants WHERE id = $1 FOR NO KEY UPDATE", tenant)
    return there is not None


async def tenant_name(connection: Connection, tenant: str) -> str:
    name: str = await connection.fetchval("SELECT name FROM tenants WHERE id = $1", tenant)
    return name


async def set_role(connection: Connection, tenant: str, user_id: str, role: Role) -> None:
    await connection.execute("UPDATE users SET role = $3 WHERE tenant_id = $1 AND id = $2", tenant, user_id, role)


async def set_name(connection: Connection, tenant: str, user_id: str, name: str, locale: str | None) -> None:
    await connection.execute(
        "UPDATE users SET name = $3, locale = $4 WHERE tenant_id = $1 AND id = $2", tenant, user_id, name, locale
    )


async def set_password(connection: Connection, tenant: str, user_id: str, password_hash: str) -> None:
    await connection.execute(
        "UPDATE users SET password_hash = $3 WHERE tenant_id = $1 AND id = $2", tenant, user_id, password_hash
    )


async def pin_subject(connection: Connection, tenant: str, user_id: str, issuer: str, subject: str) -> bool:
    """Whether the provider's subject is the one of the person's first sign-in by it. Another provider begins anew."""
    same = await connection.fetchval(
        """
        UPDATE users SET provider_issuer = $3, provider_subject = $4
        WHERE tenant_id = $1 AND id = $2 AND (provider_issuer IS DISTINCT FROM $3 OR provider_subject = $4)
        RETURNING true
        """,
        tenant,
        user_id,
        issuer,
        subject,
    )
    return same is not None


async def remove(connection: Connection, tenant: str, user_id: str) -> None:
    """The row stays, and nothing by which the person could come in again."""
    await connection.execute(
        """
        UPDATE users SET removed_at = now(), password_hash = NULL, factor_secret_id = NULL, factor_sealed = NULL,
            factor_since = NULL
        WHERE tenant_id = $1 AND id = $2
        """,
        tenant,
        user_id,
    )


async def save_factor(
    connection: Connection, tenant: str, user_id: str, factor: Sealed | None, *, confirmed: bool, step: int
) -> None:
    """The second factor as it is now; when it was confirmed first stays."""
    await connection.execute(
        """
        UPDATE users SET factor_secret_id = $3, factor_sealed = $4,
            factor_since = CASE WHEN $5 THEN coalesce(factor_since, now()) END, factor_step = $6
        WHERE tenant_id = $1 AND id = $2
        """,
        tenant,
        user_id,
        factor.secret_id if factor else None,
        factor.sealed if factor else None,
        confirmed,
        step,
    )


async def lock_sealed_otherwise(connection: Connection, secret_id: str, limit: int) -> list[User]:
    """People whose second factor this secret did not seal."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM users WHERE factor_secret_id <> $1 ORDER BY id LIMIT $2 FOR NO KEY UPDATE",
        secret_id,
        limit,
    )
    return [_user_of(row) for row in rows]
