"""Speaking OpenID Connect with a provider that a tenant chose: where it is, what it says, and whether that is true.

The address is the tenant's choice, so the way out is guarded: https only, addresses of the public internet only, judged
where the connection is made; no redirects; bounded in time and in bytes.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx2
from aiohttp import AsyncResolver
from aiohttp.abc import AbstractResolver
from authlib.integrations.base_client import OAuthError  # type: ignore[import-untyped] # it has no types
from authlib.integrations.httpx_client import AsyncOAuth2Client  # type: ignore[import-untyped]
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri  # type: ignore[import-untyped]
from authlib.oauth2.rfc7636 import create_s256_code_challenge  # type: ignore[import-untyped]
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from pickupbox.domain.people import ProviderAway
from pickupbox.telemetry import log
from pickupbox.webhooks.addresses import is_allowed, objection

SECONDS = 10.0
ANSWER_BYTES = 256 * 1024
KEPT_SECONDS = 300.0
MOST_KEPT = 500
CLOCK_SECONDS = 60  # as far as two clocks may differ
SCOPE = "openid email profile"
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]


@dataclass(frozen=True, slots=True)
class Provider:
    """What a provider says about itself."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    auth_method: str


@dataclass(frozen=True, slots=True)
class Client:
    """What we are to a provider."""

    id: str
    secret: str
    redirect_uri: str


_kept: dict[tuple[str, bool], tuple[float, Provider]] = {}


async def find(issuer: str, *, loopback: bool) -> Provider:
    """What the provider said within the last five minutes, or says now: strangers can ask for it."""
    until, kept = _kept.get((issuer, loopback), (0.0, None))
    if kept is not None and time.monotonic() < until:
        return kept
    provider = await discover(issuer, loopback=loopback)
    if len(_kept) >= MOST_KEPT:
        _kept.clear()
    _kept[issuer, loopback] = (time.monotonic() + KEPT_SECONDS, provider)
    return provider


async def discover(issuer: str, *, loopback: bool) -> Provider:
    """Ask the provider where it does what."""
    async with _speaking(loopback=loopback) as http:
        said = await _get(http, f"{issuer.rstrip('/')}/.well-known/openid-configuration", loopback=loopback)
    if str(said.get("issuer", "")).rstrip("/") != issuer.rstrip("/"):
        raise _away("says that it is somebody else")
    methods = said.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    provider = Provider(
        issuer=str(said["issuer"]),
        authorization_endpoint=str(said.get("authorization_endpoint", "")),
        token_endpoint=str(said.get("token_endpoint", "")),
        jwks_uri=str(said.get("jwks_uri", "")),
        userinfo_endpoint=str(said["userinfo_endpoint"]) if said.get("userinfo_endpoint") else None,
        auth_method="client_secret_basic" if "client_secret_basic" in methods else "client_secret_post",
    )
    for url in (provider.authorization_endpoint, provider.token_endpoint, provider.jwks_uri):
        if objection(url, loopback=loopback) is not None:
            raise _away("names an address that may not be used")
    return provider


def address_to_send_to(
    provider: Provider, client: Client, *, state: str, nonce: str, verifier: str, hint: str, anew: bool
) -> str:
    """Where the person signs in. `anew`: also if the provider knows them already."""
    asked = {"prompt": "login", "max_age": "0"} if anew else {}
    url: str = prepare_grant_uri(
        provider.authorization_endpoint,
        client.id,
        "code",
        redirect_uri=client.redirect_uri,
        scope=SCOPE,
        state=state,
        nonce=nonce,
        login_hint=hint,
        code_challenge=create_s256_code_challenge(verifier),
        code_challenge_method="S256",
        **asked,
    )
    return url


async def claims_for(
    provider: Provider, client: Client, code: str, *, nonce: str, verifier: str, now: float, loopback: bool
) -> dict[str, Any]:
    """What the provider says about the person, for the code that they brought; every word of it verified."""
    async with _speaking(client, provider, loopback=loopback) as http:
        try:
            token = await http.fetch_token(
                provider.token_endpoint, code=code, code_verifier=verifier, grant_type="authorization_code"
            )
        except OAuthError as error:
            raise _away(f"does not take the code: {error.error}") from error
        keys = await _get(http, provider.jwks_uri, loopback=loopback)
        claims = verified(str(token.get("id_token", "")), keys, provider.issuer, client.id, nonce, now)
        if "email" not in claims and provider.userinfo_endpoint:
            told = await _get(http, provider.userinfo_endpoint, loopback=loopback, as_person=True)
            if told.get("sub") == claims["sub"]:
                claims = told | claims
    return claims


def verified(token: str, keys: dict[str, Any], issuer: str, client_id: str, nonce: str, now: float) -> dict[str, Any]:
    """The claims of an id_token, if all of it holds: signature, issuer, audience, nonce and time."""
    try:
        claims = jwt.decode(token, KeySet.import_key_set(keys), algorithms=ALGORITHMS).claims  # type: ignore[arg-type]
    except (JoseError, ValueError, KeyError, TypeError) as error:
        raise _away(f"sent an id_token that does not verify: {type(error).__name__}") from error
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    expires, made = claims.get("exp"), claims.get("iat")
    holds = {
        "issuer": claims.get("iss") == issuer,
        "audience": client_id in audiences and (len(audiences) == 1 or claims.get("azp") == client_id),
        "nonce": claims.get("nonce") == nonce,
        "expiry": isinstance(expires, int | float) and expires > now - CLOCK_SECONDS,
        "time": isinstance(made, int | float) and made < now + CLOCK_SECONDS,
        "subject": isinstance(claims.get("sub"), str) and claims["sub"] != "",
    }
    if not all(holds.values()):
        raise _away(f"sent an id_token of another {next(part for part, held in holds.items() if not held)}")
    return dict(claims)


@asynccontextmanager
async def _speaking(
    client: Client | None = None, provider: Provider | None = None, *, loopback: bool
) -> AsyncIterator[AsyncOAuth2Client]:
    """One conversation, bounded in time. Whatever goes wrong on the other side is one refusal."""
    oauth = AsyncOAuth2Client(
        client.id if client else None,
        client.secret if client else None,
        token_endpoint_auth_method=provider.auth_method if provider else None,
        redirect_uri=client.redirect_uri if client else None,
        transport=Guarded(loopback=loopback),
        timeout=SECONDS,
        trust_env=False,
        follow_redirects=False,
    )
    try:
        async with asyncio.timeout(SECONDS), oauth:
            yield oauth
    except (httpx2.HTTPError, OSError, ValueError) as error:
        raise _away(f"cannot be spoken with: {type(error).__name__}") from error


async def _get(http: AsyncOAuth2Client, url: str, *, loopback: bool, as_person: bool = False) -> dict[str, Any]:
    if objection(url, loopback=loopback) is not None:
        raise _away("names an address that may not be used")
    answer = await http.request("GET", url, withhold_token=not as_person, headers={"accept": "application/json"})
    said = answer.json() if answer.status_code == 200 else None
    if not isinstance(said, dict):
        raise _away(f"answers {answer.status_code}")
    return said


def _away(problem: str) -> ProviderAway:
    log.warning("provider_away", problem=problem)
    return ProviderAway()


@cache
def _tls() -> ssl.SSLContext:
    """The machine's authorities; read once, which takes a while."""
    return ssl.create_default_context()


class Guarded(httpx2.AsyncBaseTransport):
    """Connects to the address that was judged, under the name that was asked for."""

    def __init__(self, *, loopback: bool, resolver: AbstractResolver | None = None) -> None:
        self._loopback = loopback
        # Asks without threads: one firm's slow name server holds up nobody's password and nobody's database.
        self._resolver = resolver or AsyncResolver()
        self._inner = httpx2.AsyncHTTPTransport(verify=_tls(), trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.host
        if objection(str(request.url), loopback=self._loopback) is not None:
            raise httpx2.ConnectError("the address may not be used")
        found = await self._resolver.resolve(host, family=socket.AF_UNSPEC)
        allowed = [place["host"] for place in found if is_allowed(place["host"], loopback=self._loopback)]
        if not allowed:
            raise httpx2.ConnectError("the address may not be used")
        # The Host header was set from the name, and stays; TLS asks for the name, too.
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.url = request.url.copy_with(host=allowed[0])
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            raise httpx2.DecodingError("the answer is compressed, and its length says nothing of what is in it")
        if not isinstance(response.stream, httpx2.AsyncByteStream):
            raise httpx2.ReadError("no stream")
        response.stream = _Bounded(response.stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()
        await self._resolver.close()


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        count = 0
        async for part in self._stream:
            count += len(part)
            if count > ANSWER_BYTES:
                raise httpx2.ReadError("the answer is too long")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
