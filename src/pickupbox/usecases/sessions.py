"""Sessions: who is behind a cookie, and for how long."""

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass

from pickupbox.database import sessions, users
from pickupbox.domain.errors import NotFound
from pickupbox.domain.roles import Role
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core

ADDRESS_LENGTH = 64
AGENT_LENGTH = 400


@dataclass(frozen=True, slots=True)
class Visitor:
    """A person with a live session."""

    session: bytes
    tenant: str
    tenant_name: str
    id: str
    email: str
    name: str
    role: Role
    locale: str | None
    stepped_up: bool
    second_factor: bool  # their own, or whatever the firm's provider asks for
    way: str = "password"  # or "provider": how this session began


def hash_of(token: str) -> bytes:
    """A token has 32 random bytes, so a plain hash tells nothing of it."""
    return hashlib.sha256(token.encode()).digest()


def new_token() -> str:
    return secrets.token_urlsafe(32)


async def who(core: Core, token: str, *, in_use: bool = True) -> Visitor | None:
    """The person whose live session this is: used in the last 30 minutes, begun in the last 12 hours.

    A page that asks by itself, without its person, is not `in_use`.
    """
    async with core.db.connection() as connection:
        found = await sessions.find(connection, hash_of(token))
        if found is None:
            return None
        session, tenant, tenant_name, user_id, email, name, role, *rest, stale = found
        if stale and in_use:
            await sessions.touch(connection, tenant, user_id, session)
    return Visitor(session, tenant, tenant_name, user_id, email, name, Role(role), *rest)


async def roles_of(core: Core, session_hashes: Collection[bytes]) -> dict[bytes, Role]:
    """Of these sessions those that are live, and what their people are now."""
    async with core.db.connection() as connection:
        found = await sessions.find_roles(connection, session_hashes)
    return {session: Role(role) for session, role in found}


async def begin(core: Core, user_id: str, address: str | None, agent: str | None, way: str = "password") -> str:
    """A new session for a person who has proven who they are; its token, of which only a hash is kept."""
    token = new_token()
    async with core.db.transaction() as tx:
        user = await users.find_by_id(tx, user_id)
        if user is None:
            raise NotFound
        session_id = core.new_id("ses")
        await sessions.insert(
            tx,
            user.tenant_id,
            user_id,
            session_id=session_id,
            token_hash=hash_of(token),
            way=way,
            address=address[:ADDRESS_LENGTH] if address else None,
            agent=agent[:AGENT_LENGTH] if agent else None,
        )
        await note(core, tx, Caller(user.tenant_id, user_id, address=address), f"session.begin.{way}", session_id)
    return token


async def end(core: Core, visitor: Visitor) -> None:
    async with core.db.transaction() as tx:
        await sessions.delete(tx, visitor.tenant, visitor.session)
        await note(core, tx, Caller(visitor.tenant, visitor.id), "session.end", visitor.id)


async def end_one(core: Core, caller: Caller, session_id: str) -> None:
    """End one of the caller's own sessions."""
    async with core.db.transaction() as tx:
        if not await sessions.delete_one(tx, caller.tenant, caller.actor, session_id):
            raise NotFound
        await note(core, tx, caller, "session.end", session_id)


async def end_others(core: Core, caller: Caller, visitor: Visitor) -> None:
    """End all sessions of a person but this one."""
    async with core.db.transaction() as tx:
        await sessions.delete_all(tx, visitor.tenant, visitor.id, but=visitor.session)
        await note(core, tx, caller, "session.end_others", visitor.id)


async def step_up(core: Core, visitor: Visitor) -> None:
    """The person has just proven again who they are; that counts for 5 minutes."""
    async with core.db.transaction() as tx:
        await sessions.step_up(tx, visitor.tenant, visitor.session)
        await note(core, tx, Caller(visitor.tenant, visitor.id), "session.step_up", visitor.id)


async def list_mine(core: Core, tenant: str, user_id: str) -> list[sessions.Session]:
    async with core.db.connection() as connection:
        return await sessions.list_live(connection, tenant, user_id)
