"""Links that work once: an invitation, or a new password for who forgot theirs."""

import asyncio
from dataclasses import dataclass
from enum import StrEnum

from pickupbox.database import identity_providers, links, sessions, users
from pickupbox.database.connection import Connection
from pickupbox.domain.letters import Letter
from pickupbox.domain.people import LinkNotValid, OnlyByProvider, checked_password, domain_of, name_of
from pickupbox.usecases import attempts
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.mail import post
from pickupbox.usecases.passwords import hash_password
from pickupbox.usecases.sessions import hash_of, new_token

# An answer takes so long whether anybody has the e-mail or not.
ANSWER_SECONDS = 0.25


class Purpose(StrEnum):
    INVITATION = "invitation"
    RESET = "reset"


MINUTES = {Purpose.INVITATION: 7 * 24 * 60, Purpose.RESET: 60}


@dataclass(frozen=True, slots=True)
class Link:
    """A new link; the only time that it is seen, but for the mail."""

    user_id: str
    url: str


@dataclass(frozen=True, slots=True)
class Opened:
    """What someone who follows a link is to do, and who they are."""

    purpose: Purpose
    user: users.User
    tenant_name: str
    only_by_provider: bool


async def issue(core: Core, tx: Connection, user: users.User, purpose: Purpose) -> Link:
    """A link by mail. Those before it are void."""
    token = new_token()
    await links.delete_all(tx, user.tenant_id, user.id)
    await links.insert(tx, user.tenant_id, user.id, hash_of(token), purpose, MINUTES[purpose])
    url = f"{core.admin_url}/link/{token}"
    await post(core, tx, user, Letter(purpose), await users.tenant_name(tx, user.tenant_id), url)
    return Link(user.id, url)


async def ask_for_reset(core: Core, email: str, address: str | None) -> None:
    """A mail to who has this e-mail. Says nothing of whether anybody does."""
    await attempts.take(core, attempts.of_reset(email), attempts.of_reset_address(address))
    await asyncio.gather(_reset(core, email, address), asyncio.sleep(ANSWER_SECONDS))


async def _reset(core: Core, email: str, address: str | None) -> None:
    async with core.db.transaction() as tx:
        user = await users.find_by_email(tx, email)
        if user is None or await identity_providers.is_only_way(tx, user.tenant_id, domain_of(email)):
            return
        # Who never came in gets the invitation again: a password is chosen in both.
        purpose = Purpose.INVITATION if user.password_hash is None else Purpose.RESET
        await issue(core, tx, user, purpose)
        await note(core, tx, Caller(user.tenant_id, user.id, address=address), "user.reset.ask", user.id)


async def look_at(core: Core, token: str) -> Opened:
    """What the link is for, without using it: mail scanners follow links, too."""
    async with core.db.connection() as connection:
        return await _opened(connection, await links.find(connection, hash_of(token)))


async def use(core: Core, token: str, name: str | None, password: str, address: str | None) -> Opened:
    """Choose a password by a link. It works no more, and every session of the person ends."""
    kept = await hash_password(checked_password(password))
    async with core.db.transaction() as tx:
        opened = await _opened(tx, await links.use(tx, hash_of(token)))
        if opened.only_by_provider:
            raise OnlyByProvider
        user = opened.user
        if name is not None:
            await users.set_name(tx, user.tenant_id, user.id, name_of(name), user.locale)
        await users.set_password(tx, user.tenant_id, user.id, kept)
        await sessions.delete_all(tx, user.tenant_id, user.id)
        await links.delete_all(tx, user.tenant_id, user.id)
        caller = Caller(user.tenant_id, user.id, address=address)
        await note(core, tx, caller, f"user.{opened.purpose}.use", user.id)
        if opened.purpose is Purpose.RESET:
            await post(core, tx, user, Letter.PASSWORD_CHANGED, opened.tenant_name, f"{core.admin_url}/forgot")
    return opened


async def _opened(connection: Connection, link: links.StoredLink | None) -> Opened:
    user = await users.lock(connection, link.tenant_id, link.user_id) if link else None
    if link is None or user is None:
        raise LinkNotValid
    only = await identity_providers.is_only_way(connection, user.tenant_id, domain_of(user.email))
    return Opened(Purpose(link.purpose), user, await users.tenant_name(connection, user.tenant_id), only)
