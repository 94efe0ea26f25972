"""Tenants and API keys."""

import os
from dataclasses import dataclass

from pickupbox.database import tenants
from pickupbox.domain.identifiers import api_key
from pickupbox.usecases.core import Core


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key; the only time that the complete key is seen."""

    id: str
    api_key: str


async def add_tenant(core: Core, name: str) -> str:
    tenant = core.new_id("ten")
    async with core.db.connection() as connection:
        await tenants.insert(connection, tenant, name)
    return tenant


async def issue_key(core: Core, tenant: str, name: str) -> IssuedKey | None:
    """A new key of that name; None if two of that name live already, or there is no such tenant."""
    word = "live" if core.environment == "production" else "test"
    key = api_key(word, core.cell, os.urandom(32))
    key_id = core.new_id("key")
    async with core.db.connection() as connection:
        kept = await tenants.insert_key(
            connection,
            tenant,
            key_id,
            name,
            shown=f"{key[: len(key) - 49]}…{key[-4:]}",
            secret_id=core.vault.current.id,
            hmac=core.vault.api_key_hmac(key),
        )
    return IssuedKey(key_id, key) if kept else None


async def revoke_key(core: Core, tenant: str, key_id: str) -> bool:
    """Revoke a key; every API process stops taking it within 5 seconds."""
    async with core.db.connection() as connection:
        return await tenants.revoke_key(connection, tenant, key_id)
