"""The audit trail: append-only entries, sealed later into one hash chain per tenant."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from pickupbox.database.connection import Connection


@dataclass(frozen=True, slots=True)
class Entry:
    at: datetime
    tenant_id: str
    id: str
    actor: str
    action: str
    object: str
    request_id: str | None
    address: str | None


@dataclass(frozen=True, slots=True)
class Link:
    number: int
    hash: bytes


async def append(
    connection: Connection,
    tenant: str,
    entry_id: str,
    *,
    actor: str,
    action: str,
    obj: str,
    request_id: str | None,
    address: str | None,
) -> None:
    await connection.execute(
        """
        INSERT INTO audit (tenant_id, id, actor, action, object, request_id, address)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """,
        tenant,
        entry_id,
        actor,
        action,
        obj,
        request_id,
        address,
    )


async def become_sealer(connection: Connection) -> bool:
    """Whether this transaction may seal: only one does at a time."""
    mine: bool = await connection.fetchval("SELECT pg_try_advisory_xact_lock(hashtext('pickupbox.seal'))")
    return mine


async def unsealed(connection: Connection, limit: int) -> list[Entry]:
    rows = await connection.fetch(
        """
        SELECT at, tenant_id, id, actor, action, object, request_id, address FROM audit
        WHERE chain_hash IS NULL ORDER BY id LIMIT $1
        """,
        limit,
    )
    return [Entry(*row.values()) for row in rows]


async def heads(connection: Connection, tenants: Sequence[str]) -> dict[str, Link]:
    rows = await connection.fetch(
        "SELECT tenant_id, chain_number, chain_hash FROM audit_heads WHERE tenant_id = ANY ($1)",
        list(tenants),
    )
    return {row["tenant_id"]: Link(row["chain_number"], row["chain_hash"]) for row in rows}


async def seal(connection: Connection, sealed: Sequence[tuple[Entry, Link]], heads: dict[str, Link]) -> None:
    await connection.execute(
        """
        UPDATE audit a SET chain_number = s.number, chain_hash = s.hash
        FROM unnest($1::timestamptz[], $2::text[], $3::text[], $4::bigint[], $5::bytea[])
            AS s (at, tenant_id, id, number, hash)
        WHERE a.at = s.at AND a.tenant_id = s.tenant_id AND a.id = s.id
        """,
        [entry.at for entry, _ in sealed],
        [entry.tenant_id for entry, _ in sealed],
        [entry.id for entry, _ in sealed],
        [link.number for _, link in sealed],
        [link.hash for _, link in sealed],
    )
    await connection.execute(
        """
        INSERT INTO audit_heads (tenant_id, chain_number, chain_hash)
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])
        ON CONFLICT (tenant_id) DO UPDATE
        SET chain_number = excluded.chain_number, chain_hash = excluded.chain_hash
        """,
        list(heads),
        [link.number for link in heads.values()],
        [link.hash for link in heads.values()],
    )


async def chain(connection: Connection, tenant: str | None) -> AsyncIterator[tuple[Entry, Link]]:
    """The sealed entries, tenant by tenant, in order; inside a transaction."""
    cursor = connection.cursor(
        """
        SELECT at, tenant_id, id, actor, action, object, request_id, address, chain_number, chain_hash FROM audit
        WHERE chain_hash IS NOT NULL AND ($1::text IS NULL OR tenant_id = $1) ORDER BY tenant_id, chain_number
        """,
        tenant,
        prefetch=1000,
    )
    async for row in cursor:
        *entry, number, digest = row.values()
        yield Entry(*entry), Link(number, digest)
