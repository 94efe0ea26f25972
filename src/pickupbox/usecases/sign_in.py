"""Signing in by password and second factor, and confirming later that it is still the same person."""

import asyncio
from dataclasses import dataclass

from pickupbox.database import identity_providers, sign_ins, users
from pickupbox.database.sign_ins import SignIn
from pickupbox.domain.people import CodeRefused, OnlyByProvider, SignInOver, SignInRefused, domain_of
from pickupbox.telemetry import SIGN_INS
from pickupbox.usecases import attempts, second_factor
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.passwords import hash_password, is_outdated, is_password
from pickupbox.usecases.sessions import Visitor, begin, hash_of, new_token, step_up

# A refusal takes at least so long, whatever was wrong: how long it takes tells nothing.
REFUSAL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Stranger:
    """Whoever is at the door, for the audit trail and the list of sessions."""

    address: str | None
    agent: str | None


@dataclass(frozen=True, slots=True)
class Entered:
    """A session, or what is needed for the next step: the token belongs into a cookie of its own."""

    session: str | None
    sign_in: str | None


async def by_password(core: Core, email: str, password: str, stranger: Stranger, then: str) -> Entered:
    """Judge an e-mail and a password. A wrong one and an unknown e-mail get the same answer in the same time."""
    counted = attempts.of_email(email), attempts.of_address(stranger.address)
    await attempts.take(core, *counted)
    async with core.db.connection() as connection:
        user = await users.find_by_email(connection, email)
        only = user is not None and await identity_providers.is_only_way(connection, user.tenant_id, domain_of(email))
    refusal_at = asyncio.get_running_loop().time() + REFUSAL_SECONDS
    right = await is_password(password, user.password_hash if user else None)
    if user is None or not right:
        if user is not None:
            await _note(core, user, stranger, "session.refuse.password")
        SIGN_INS.labels("refused").inc()
        await asyncio.sleep(refusal_at - asyncio.get_running_loop().time())
        raise SignInRefused
    if only:
        raise OnlyByProvider
    await attempts.succeeded(core, *counted)
    if user.password_hash is not None and is_outdated(user.password_hash):
        async with core.db.connection() as connection:
            await users.set_password(connection, user.tenant_id, user.id, await hash_password(password))
    return await enter(core, user, stranger, then)


async def enter(core: Core, user: users.User, stranger: Stranger, then: str) -> Entered:
    """The first proof is given: a session, or first the second factor."""
    if not second_factor.is_on(user):
        SIGN_INS.labels("in").inc()
        return Entered(await begin(core, user.id, stranger.address, stranger.agent), None)
    token = new_token()
    async with core.db.connection() as connection:
        await sign_ins.insert(connection, user.tenant_id, hash_of(token), SignIn(user.tenant_id, user.id, then))
    SIGN_INS.labels("second_factor").inc()
    return Entered(None, token)


async def by_code(core: Core, token: str, code: str, stranger: Stranger) -> tuple[str, str]:
    """The second factor of a sign-in that has begun: the session's token, and where the person wanted to go."""
    async with core.db.connection() as connection:
        sign_in = await sign_ins.find(connection, hash_of(token))
    if sign_in is None or sign_in.user_id is None:
        raise SignInOver
    counted = attempts.of_person(sign_in.user_id)
    await attempts.take(core, counted)
    async with core.db.transaction() as tx:
        user = await users.lock(tx, sign_in.tenant_id, sign_in.user_id)
        right = user is not None and await second_factor.is_right(core, tx, user, code)
        if right and await sign_ins.take(tx, hash_of(token)) is None:
            raise SignInOver
    if user is None:
        raise SignInOver
    if not right:
        await _note(core, user, stranger, "session.refuse.second_factor")
        SIGN_INS.labels("code_refused").inc()
        raise CodeRefused
    await attempts.succeeded(core, counted)
    SIGN_INS.labels("in").inc()
    return await begin(core, user.id, stranger.address, stranger.agent), sign_in.next


async def confirm(core: Core, visitor: Visitor, password: str, code: str, address: str | None) -> None:
    """Still the same person, by password or by a code; then what is guarded opens for 5 minutes."""
    counted = attempts.of_person(visitor.id)
    await attempts.take(core, counted)
    async with core.db.transaction() as tx:
        user = await users.lock(tx, visitor.tenant, visitor.id)
        by_app = user is not None and bool(code) and await second_factor.is_right(core, tx, user, code)
    if user is None:
        raise SignInOver
    if not by_app and not (password and await is_password(password, user.password_hash)):
        await _note(core, user, Stranger(address, None), "session.refuse.step_up")
        raise CodeRefused if code else SignInRefused
    await attempts.succeeded(core, counted)
    await step_up(core, visitor)


async def _note(core: Core, user: users.User, stranger: Stranger, action: str) -> None:
    async with core.db.connection() as connection:
        await note(core, connection, Caller(user.tenant_id, "stranger", address=stranger.address), action, user.id)
