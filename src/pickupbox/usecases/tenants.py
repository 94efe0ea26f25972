"""Tenants and API keys."""

import os
from dataclasses import dataclass

from pickupbox.database import tenants
from pickupbox.database.connection import Connection
from pickupbox.domain.errors import NotFound
from pickupbox.domain.identifiers import api_key
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import PLATFORM, Caller, Core


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key; the only time that the complete key is seen."""

    id: str
    api_key: str


async def add_tenant(core: Core, name: str) -> str:
    """A tenant that no person adds: of a demo, a fleet."""
    tenant = core.new_id("ten")
    async with core.db.connection() as connection:
        await tenants.insert(connection, tenant, name)
    return tenant


async def set_up_tenant(core: Core, name: str) -> str:
    """A new tenant, by a person at the command line; its trail begins with that."""
    tenant = core.new_id("ten")
    async with core.db.transaction() as tx:
        await tenants.insert(tx, tenant, name)
        await note(core, tx, Caller(tenant, PLATFORM), f"tenant.add: {name}", tenant)
    return tenant


async def set_rate(core: Core, caller: Caller, per_second: int, burst: int) -> bool:
    """How fast each key of the tenant may ask; False if there is no such tenant."""
    async with core.db.transaction() as tx:
        changed = await tenants.set_rate(tx, caller.tenant, per_second, burst)
        if changed:
            await note(core, tx, caller, f"tenant.rate: {per_second} per second, burst {burst}", caller.tenant)
    return changed


async def issue_key(core: Core, caller: Caller, name: str) -> IssuedKey | None:
    """A new key of that name; None if two of that name live already, or there is no such tenant."""
    async with core.db.transaction() as tx:
        return await _issue(core, tx, caller, name)


async def rotate_key(core: Core, caller: Caller, key_id: str, overlap_hours: int | None) -> IssuedKey | None:
    """A new key of the same name; the one before ends after the overlap, or when someone revokes it.

    None if two of that name live already: one must end first.
    """
    async with core.db.transaction() as tx:
        before = await tenants.find_key(tx, caller.tenant, key_id)
        if before is None:
            raise NotFound
        issued = await _issue(core, tx, caller, before.name)
        if issued is None:
            return None
        if not await tenants.revoke_key_in(tx, caller.tenant, key_id, overlap_hours):
            raise NotFound
        await note(core, tx, caller, "key.rotate", key_id)
    return issued


async def keep_key(core: Core, caller: Caller, key_id: str) -> bool:
    """A key that would end by itself lives on; False if there is no such live key."""
    async with core.db.transaction() as tx:
        kept = await tenants.revoke_key_in(tx, caller.tenant, key_id, None)
        if kept:
            await note(core, tx, caller, "key.keep", key_id)
    return kept


async def revoke_key(core: Core, caller: Caller, key_id: str) -> bool:
    """Revoke a key; every API process stops taking it within 5 seconds."""
    async with core.db.transaction() as tx:
        revoked = await tenants.revoke_key(tx, caller.tenant, key_id)
        if revoked:
            await note(core, tx, caller, "key.revoke", key_id)
    return revoked


async def _issue(core: Core, tx: Connection, caller: Caller, name: str) -> IssuedKey | None:
    word = "live" if core.environment == "production" else "test"
    key = api_key(word, core.cell, os.urandom(32))
    key_id = core.new_id("key")
    kept = await tenants.insert_key(
        tx,
        caller.tenant,
        key_id,
        name,
        shown=f"{key[: len(key) - 49]}…{key[-4:]}",
        secret_id=core.vault.current.id,
        hmac=core.vault.api_key_hmac(key),
    )
    if not kept:
        return None
    await note(core, tx, caller, "key.issue", key_id)
    return IssuedKey(key_id, key)
