"""Signing in by a firm's own provider: who was invited comes in, by the e-mail that the provider vouches for."""

import hmac
import secrets
from dataclasses import dataclass

from pickupbox.database import identity_providers, sessions, sign_ins, users
from pickupbox.database.identity_providers import IdentityProvider
from pickupbox.database.sign_ins import SignIn
from pickupbox.domain.people import (
    EMAIL_LONGEST,
    InvalidProvider,
    ProviderKnowsAnother,
    ProviderRefused,
    SignInOver,
    domain_of,
    email_of,
)
from pickupbox.telemetry import SIGN_INS
from pickupbox.usecases import attempts, openid
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.sessions import Visitor, begin, hash_of, new_token
from pickupbox.usecases.sign_in import Stranger
from pickupbox.webhooks.addresses import objection

RETURN_PATH = "/sign-in/return"
SUBJECT_LONGEST = 255  # by the standard
FRESH_SECONDS = 300  # how long ago the provider may have asked, for a step-up


@dataclass(frozen=True, slots=True)
class Sent:
    """Where the person goes now, and the token by which we know them again: for a cookie of its own."""

    url: str
    token: str


@dataclass(frozen=True, slots=True)
class Returned:
    """A new session, or None after a step-up; and where the person wanted to go."""

    session: str | None
    next: str


async def provider_for(core: Core, email: str) -> IdentityProvider | None:
    """The provider of the person's own tenant. Who is not known is treated as the domain's people are, so that nobody
    learns who is."""
    async with core.db.connection() as connection:
        user = await users.find_by_email(connection, email)
        if user is not None:
            return await identity_providers.find(connection, user.tenant_id, domain_of(email))
        return await identity_providers.find_by_domain(connection, domain_of(email))


async def send_to(core: Core, provider: IdentityProvider, email: str, then: str, address: str | None) -> Sent:
    """Begin a sign-in at the provider. It is asked on behalf of a stranger, so the address has so many and no more."""
    await attempts.take(core, attempts.of_provider_address(address))
    return await _send(core, provider, email, SignIn(provider.tenant_id, None, then))


async def send_again(core: Core, visitor: Visitor, then: str) -> Sent:
    """Begin a step-up at the provider: it asks the person anew."""
    async with core.db.connection() as connection:
        provider = await identity_providers.find(connection, visitor.tenant, domain_of(visitor.email))
    if provider is None:
        raise SignInOver
    sign_in = SignIn(visitor.tenant, visitor.id, then, session_hash=visitor.session)
    return await _send(core, provider, visitor.email, sign_in)


async def _send(core: Core, provider: IdentityProvider, email: str, sign_in: SignIn) -> Sent:
    found = await openid.find(provider.issuer, loopback=core.webhook_loopback)
    token, state, nonce, verifier = new_token(), new_token(), new_token(), secrets.token_urlsafe(48)
    url = openid.address_to_send_to(
        found,
        _client(core, provider),
        state=state,
        nonce=nonce,
        verifier=verifier,
        hint=email,
        anew=sign_in.session_hash is not None,
    )
    kept = SignIn(
        sign_in.tenant_id,
        sign_in.user_id,
        sign_in.next,
        domain=provider.domain,
        state=state,
        nonce=nonce,
        verifier=verifier,
        session_hash=sign_in.session_hash,
    )
    async with core.db.connection() as connection:
        await sign_ins.insert(connection, provider.tenant_id, hash_of(token), kept)
    return Sent(url, token)


async def come_back(core: Core, token: str, state: str, code: str, issuer: str | None, stranger: Stranger) -> Returned:
    """The person is back with a code. What began with this token ends here, however it ends."""
    async with core.db.transaction() as tx:
        begun = await sign_ins.take(tx, hash_of(token))
        if begun is None or begun.domain is None or begun.state is None or begun.nonce is None:
            raise SignInOver
        provider = await identity_providers.find(tx, begun.tenant_id, begun.domain)
    if provider is None or begun.verifier is None or not hmac.compare_digest(state.encode(), begun.state.encode()):
        raise SignInOver
    if not code or issuer not in (None, provider.issuer):
        raise ProviderRefused
    found = await openid.find(provider.issuer, loopback=core.webhook_loopback)
    async with core.db.connection() as connection:
        now = await users.clock(connection)
    claims = await openid.claims_for(
        found,
        _client(core, provider),
        code,
        nonce=begun.nonce,
        verifier=begun.verifier,
        now=now,
        loopback=core.webhook_loopback,
    )
    user = await _invited(core, provider, claims)
    await _pin(core, user, provider.issuer, str(claims["sub"]), stranger)
    if begun.session_hash is not None:
        asked_at = claims.get("auth_time")
        fresh = isinstance(asked_at, int | float) and asked_at > now - FRESH_SECONDS
        if user.id != begun.user_id or not fresh:
            raise ProviderRefused
        async with core.db.transaction() as tx:
            await sessions.step_up(tx, user.tenant_id, begun.session_hash)
            await note(core, tx, Caller(user.tenant_id, user.id, address=stranger.address), "session.step_up", user.id)
        return Returned(None, begun.next)
    await attempts.succeeded(core, attempts.of_provider_address(stranger.address))
    SIGN_INS.labels("in").inc()
    return Returned(await begin(core, user.id, stranger.address, stranger.agent, "provider"), begun.next)


async def _invited(core: Core, provider: IdentityProvider, claims: dict[str, object]) -> users.User:
    """The person of the provider's tenant who has the e-mail that it vouches for."""
    email = str(claims.get("email", "")).strip().lower()[: EMAIL_LONGEST + 1]
    user = None
    vouched = claims.get("email_verified")
    if (vouched is True or vouched == "true") and domain_of(email) == provider.domain:
        async with core.db.connection() as connection:
            user = await users.find_by_email(connection, email)
    if user is None or user.tenant_id != provider.tenant_id:
        SIGN_INS.labels("refused").inc()
        raise ProviderRefused
    return user


async def _pin(core: Core, user: users.User, issuer: str, subject: str, stranger: Stranger) -> None:
    """An address may be given to somebody else at the provider; its subject never is. The first one stays."""
    if len(subject) > SUBJECT_LONGEST:
        raise ProviderRefused
    async with core.db.transaction() as tx:
        same = await users.pin_subject(tx, user.tenant_id, user.id, issuer, subject)
        if not same:
            caller = Caller(user.tenant_id, user.id, address=stranger.address)
            await note(core, tx, caller, "session.refuse.subject", user.id)
    if not same:
        SIGN_INS.labels("refused").inc()
        raise ProviderKnowsAnother


async def set_provider(
    core: Core,
    caller: Caller,
    *,
    owner_email: str | None,
    domain: str,
    issuer: str,
    client_id: str,
    client_secret: str,
    only_way: bool,
) -> None:
    """Let the people of a domain in by this provider. An owner sets it for the domain of their own e-mail, which a link
    has proven to be theirs. Without a secret, the one that is known stays."""
    domain = domain_of(email_of(f"x@{domain}"))
    if owner_email is not None and domain_of(owner_email) != domain:
        raise InvalidProvider
    if not 1 <= len(client_id) <= 500 or objection(issuer, loopback=core.webhook_loopback) is not None:
        raise InvalidProvider
    found = await openid.discover(issuer, loopback=core.webhook_loopback)
    async with core.db.transaction() as tx:
        known = await identity_providers.find(tx, caller.tenant, domain)
        if not client_secret and known is None:
            raise InvalidProvider
        sealed = (
            core.vault.seal_for_people(caller.tenant, _row(domain), client_secret.encode())
            if client_secret or known is None
            else known.client_secret
        )
        provider = IdentityProvider(caller.tenant, domain, found.issuer, client_id, sealed, only_way)
        if not await identity_providers.save(tx, caller.tenant, provider):
            raise InvalidProvider
        await note(core, tx, caller, "identity.set", domain)


async def remove_provider(core: Core, caller: Caller, domain: str) -> None:
    async with core.db.transaction() as tx:
        if not await identity_providers.remove(tx, caller.tenant, domain):
            raise InvalidProvider
        await note(core, tx, caller, "identity.remove", domain)


async def list_providers(core: Core, tenant: str) -> list[IdentityProvider]:
    async with core.db.connection() as connection:
        return await identity_providers.list_all(connection, tenant)


def _client(core: Core, provider: IdentityProvider) -> openid.Client:
    secret = core.vault.open_for_people(provider.tenant_id, _row(provider.domain), provider.client_secret)
    return openid.Client(provider.client_id, secret.decode(), f"{core.admin_url}{RETURN_PATH}")


def _row(domain: str) -> str:
    return f"provider of {domain}"


def rewrapped(core: Core, provider: IdentityProvider) -> IdentityProvider:
    """The same, with its secret sealed under the current one."""
    clear = core.vault.open_for_people(provider.tenant_id, _row(provider.domain), provider.client_secret)
    sealed = core.vault.seal_for_people(provider.tenant_id, _row(provider.domain), clear)
    return IdentityProvider(
        provider.tenant_id, provider.domain, provider.issuer, provider.client_id, sealed, provider.only_way
    )
