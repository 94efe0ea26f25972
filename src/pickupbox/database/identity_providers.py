"""Firms' own OpenID Connect providers, one for the e-mails of a domain."""

from dataclasses import dataclass

from pickupbox.database.connection import Connection, Row
from pickupbox.vault import Sealed


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    tenant_id: str
    domain: str
    issuer: str
    client_id: str
    client_secret: Sealed
    only_way: bool  # people of this domain come in by it alone


_COLUMNS = "tenant_id, domain, issuer, client_id, client_secret_id, client_secret_sealed, only_way"


def _provider_of(row: Row) -> IdentityProvider:
    tenant, domain, issuer, client_id, secret_id, sealed, only_way = row.values()
    return IdentityProvider(tenant, domain, issuer, client_id, Sealed(secret_id, sealed), only_way)


async def find(connection: Connection, tenant: str, domain: str) -> IdentityProvider | None:
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM identity_providers WHERE tenant_id = $1 AND domain = $2", tenant, domain
    )
    return _provider_of(row) if row else None


async def find_by_domain(connection: Connection, domain: str) -> IdentityProvider | None:
    """In whichever tenant: for an e-mail that nobody has, so that it looks like one that somebody has."""
    row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM identity_providers WHERE domain = $1", domain)
    return _provider_of(row) if row else None


async def is_only_way(connection: Connection, tenant: str, domain: str) -> bool:
    only = await connection.fetchval(
        "SELECT only_way FROM identity_providers WHERE tenant_id = $1 AND domain = $2", tenant, domain
    )
    return bool(only)


async def list_all(connection: Connection, tenant: str) -> list[IdentityProvider]:
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM identity_providers WHERE tenant_id = $1 ORDER BY domain LIMIT 100", tenant
    )
    return [_provider_of(row) for row in rows]


async def save(connection: Connection, tenant: str, provider: IdentityProvider) -> bool:
    """False if another tenant has the domain."""
    kept = await connection.fetchval(
        f"""
        INSERT INTO identity_providers ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (domain) DO UPDATE SET issuer = $3, client_id = $4, client_secret_id = $5,
            client_secret_sealed = $6, only_way = $7, changed_at = now()
        WHERE identity_providers.tenant_id = $1
        RETURNING true
        """,
        tenant,
        provider.domain,
        provider.issuer,
        provider.client_id,
        provider.client_secret.secret_id,
        provider.client_secret.sealed,
        provider.only_way,
    )
    return kept is not None


async def remove(connection: Connection, tenant: str, domain: str) -> bool:
    gone = await connection.fetchval(
        "DELETE FROM identity_providers WHERE tenant_id = $1 AND domain = $2 RETURNING true", tenant, domain
    )
    return gone is not None


async def lock_sealed_otherwise(connection: Connection, secret_id: str, limit: int) -> list[IdentityProvider]:
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM identity_providers WHERE client_secret_id <> $1 ORDER BY domain LIMIT $2
        FOR NO KEY UPDATE
        """,
        secret_id,
        limit,
    )
    return [_provider_of(row) for row in rows]
