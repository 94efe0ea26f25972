"""The people of a tenant: who is in, with which role."""

from pickupbox.database import links, sessions, users
from pickupbox.database.connection import Connection
from pickupbox.domain.errors import NotFound
from pickupbox.domain.people import (
    EmailTaken,
    LastOwner,
    PersonNotFound,
    RoleNotYours,
    TeamFull,
    checked_password,
    email_of,
    name_of,
)
from pickupbox.domain.roles import Role, may_change
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import PLATFORM, Caller, Core
from pickupbox.usecases.links import Link, Purpose, issue
from pickupbox.usecases.passwords import hash_password


async def add_user(core: Core, tenant: str, email: str, name: str, role: Role, password: str) -> str:
    """A person who can sign in at once; the id. For the command line and the demo: in the team, people are invited."""
    kept = await hash_password(checked_password(password))
    async with core.db.transaction() as tx:
        user_id = await _add(core, tx, Caller(tenant, PLATFORM), email, name, role, kept, None)
        await note(core, tx, Caller(tenant, PLATFORM), f"user.add.{role}", user_id)
    return user_id


async def invite(
    core: Core, caller: Caller, actor: Role, email: str, name: str, role: Role, locale: str | None = None
) -> Link:
    """Let someone in: they get a link by mail by which they choose a password."""
    if not may_change(actor, None, role):
        raise RoleNotYours
    async with core.db.transaction() as tx:
        user_id = await _add(core, tx, caller, email, name, role, None, locale)
        user = await _there(tx, caller.tenant, user_id)
        await note(core, tx, caller, f"user.invite.{role}", user_id)
        return await issue(core, tx, user, Purpose.INVITATION)


async def invite_again(core: Core, caller: Caller, actor: Role, user_id: str) -> Link:
    """Another link for someone who has not come in yet; those before it are void."""
    async with core.db.transaction() as tx:
        user = await _there(tx, caller.tenant, user_id)
        if not may_change(actor, user.role, user.role):
            raise RoleNotYours
        if user.password_hash is not None:
            raise PersonNotFound
        await note(core, tx, caller, "user.invite_again", user_id)
        return await issue(core, tx, user, Purpose.INVITATION)


async def change_role(core: Core, caller: Caller, actor: Role, user_id: str, role: Role) -> None:
    """Counts from the person's next request on; ends no session."""
    async with core.db.transaction() as tx:
        await users.lock_team(tx, caller.tenant)
        user = await _there(tx, caller.tenant, user_id)
        if not may_change(actor, user.role, role):
            raise RoleNotYours
        if user.role is role:
            return
        if user.role is Role.OWNER:
            await _another_owner(tx, user)
        await users.set_role(tx, caller.tenant, user_id, role)
        await note(core, tx, caller, f"user.role.{user.role}.{role}", user_id)


async def remove_user(core: Core, caller: Caller, actor: Role, user_id: str) -> users.User:
    """Out at once: sessions end, links are void. The row stays, because the audit trail names people by their id."""
    async with core.db.transaction() as tx:
        await users.lock_team(tx, caller.tenant)
        user = await _there(tx, caller.tenant, user_id)
        if not may_change(actor, user.role, None):
            raise RoleNotYours
        if user.role is Role.OWNER:
            await _another_owner(tx, user)
        await users.remove(tx, caller.tenant, user_id)
        await sessions.delete_all(tx, caller.tenant, user_id)
        await links.delete_all(tx, caller.tenant, user_id)
        await note(core, tx, caller, "user.remove", user_id)
    return user


async def list_team(core: Core, tenant: str) -> list[users.User]:
    async with core.db.connection() as connection:
        return await users.list_all(connection, tenant)


async def find_person(core: Core, tenant: str, user_id: str) -> users.User:
    async with core.db.connection() as connection:
        return await _there(connection, tenant, user_id)


async def _add(
    core: Core,
    tx: Connection,
    caller: Caller,
    email: str,
    name: str,
    role: Role,
    password_hash: str | None,
    locale: str | None,
) -> str:
    if not await users.lock_team(tx, caller.tenant):
        raise NotFound
    if len(await users.list_all(tx, caller.tenant)) >= users.MOST:
        raise TeamFull
    user_id = core.new_id("usr")
    kept = await users.insert(
        tx,
        caller.tenant,
        user_id,
        email=email_of(email),
        name=name_of(name),
        role=role,
        password_hash=password_hash,
        locale=locale,
    )
    if not kept:
        raise EmailTaken
    return user_id


async def _there(connection: Connection, tenant: str, user_id: str) -> users.User:
    user = await users.find(connection, tenant, user_id)
    if user is None:
        raise PersonNotFound
    return user


async def _another_owner(tx: Connection, user: users.User) -> None:
    team = await users.list_all(tx, user.tenant_id)
    # One whose invitation still waits could not help.
    owners = [one for one in team if one.role is Role.OWNER and (one.password_hash or one.seen_at)]
    if all(owner.id == user.id for owner in owners):
        raise LastOwner
