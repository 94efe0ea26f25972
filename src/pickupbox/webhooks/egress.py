"""The guarded way out of webhooks: a POST to an address that a tenant chose, bounded in time, in memory and in reach.

A name is looked up once and the address that came back is the one that is connected to. Every address, looked up or
literal, is judged where its socket is made; no socket is made for one that is not allowed.
"""

import asyncio
import functools
import socket
import ssl
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from yarl import URL

from pickupbox.webhooks.addresses import is_allowed, objection

BODY_BYTES = 16 * 1024
ANSWER_BYTES = 64 * 1024  # of one exchange with headers and framing
SLICE_BYTES = 4 * 1024
ANSWERS_WAITING = 4  # one answer, and what may come before it: 100 Continue, 103 Early Hints
ADDRESSES_PER_NAME = 4  # aiohttp's attempts grow with the square of them
NAMES_KEPT_SECONDS = 10
KEEP_ALIVE_SECONDS = 2.0
URLS_KEPT = 4096

_HEADERS = {
    "Content-Type": "application/json",
    "User-Agent": f"pickupbox/{version('pickupbox')}",
    "Accept-Encoding": "identity",
}


class Answer(NamedTuple):
    """What came back, or why nothing did."""

    status: int | None
    error: str | None  # refused_address, name, connect, tls, cut, timeout or protocol
    seconds: float
    body: bytes
    retry_after: str | None


class Egress:
    """The only way out for webhooks; sign-in at a tenant's own provider has another, `usecases/openid.py`."""

    def __init__(self, *, loopback: bool, seconds: float = 15.0, resolver: AbstractResolver | None = None) -> None:
        self._loopback = loopback
        self._seconds = seconds
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None
        self._urls: dict[str, URL | None] = {}

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Send it once. What the other side does comes back as an Answer and is never raised."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            target = self._urls[url]
        except KeyError:
            target = self._judge(url)
        if target is None:
            return Answer(None, "refused_address", 0.0, b"", None)
        session = self._session or self._open()
        try:
            # One limit around all of it. aiohttp's own would be rounded up to a full second.
            async with asyncio.timeout(self._seconds):
                response = await session.post(target, data=body, headers=headers, allow_redirects=False)
                try:
                    start = await _start_of_body(response.content)
                finally:
                    response.release()  # kept if all of the answer was read, closed if not
        except (aiohttp.ClientError, OSError) as error:
            return Answer(None, _name_of(error), loop.time() - started, b"", None)
        return Answer(response.status, None, loop.time() - started, start, response.headers.get("Retry-After"))

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
        if self._resolver is not None:
            await self._resolver.close()

    def _judge(self, url: str) -> URL | None:
        if len(self._urls) >= URLS_KEPT:
            self._urls.clear()
        try:
            target = URL(url, encoded=True) if objection(url, loopback=self._loopback) is None else None
        except ValueError:
            target = None
        self._urls[url] = target
        return target

    def _open(self) -> aiohttp.ClientSession:
        # aiodns asks without threads: one tenant's slow name server holds up nobody else's lookup.
        self._resolver = self._resolver or aiohttp.AsyncResolver()
        connector = _Connector(
            resolver=_FewAddresses(self._resolver),
            ttl_dns_cache=NAMES_KEPT_SECONDS,
            socket_factory=self._socket,
            ssl=_tls(),
            keepalive_timeout=KEEP_ALIVE_SECONDS,
            limit=0,  # who delivers limits, per endpoint and in all
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers=_HEADERS,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            trust_env=False,
            auto_decompress=False,
            read_bufsize=BODY_BYTES,
            max_line_size=4096,
            max_field_size=8190,
            max_headers=64,
        )
        return self._session

    def _socket(self, info: tuple[Any, ...]) -> socket.socket:
        """A socket for an address that is about to be connected to. This is the guard: this client makes no other."""
        family, kind, protocol, _, address = info
        if not is_allowed(address[0], loopback=self._loopback):
            raise _RefusedAddressError
        return socket.socket(family, kind, protocol)


class _RefusedAddressError(OSError):
    """The address is not one that webhooks may go to."""


class _EndlessAnswerError(aiohttp.ClientError):
    """More came than an answer needs."""


class _FewAddresses(AbstractResolver):
    """The first addresses of a name; a name with thousands must not become thousands of connections."""

    def __init__(self, resolver: AbstractResolver) -> None:
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        if not found:
            raise OSError(None, "The name has no address")
        return found[:ADDRESSES_PER_NAME]

    async def close(self) -> None:
        await self._resolver.close()


class _Connector(aiohttp.TCPConnector):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        reader: type[ResponseHandler] = _BoundedReader
        self._factory = functools.partial(reader, loop=self._loop)


class _BoundedReader(ResponseHandler):
    """aiohttp's reader, with a bound on what a server can make it hold.

    Left alone it parses and keeps whatever comes, also on an idle connection: answers that nobody asked for filled
    94 MiB within the two seconds for which a connection is kept.
    """

    _left = 0

    def set_response_params(self, **params: Any) -> None:
        self._left = ANSWER_BYTES
        super().set_response_params(**params)

    def is_connected(self) -> bool:
        # An answer that came before its question must not be taken for the next one's.
        return super().is_connected() and not self.should_close

    def data_received(self, data: bytes) -> None:
        if len(data) > SLICE_BYTES:
            for start in range(0, len(data), SLICE_BYTES):
                self.data_received(data[start : start + SLICE_BYTES])
            return
        if self.transport is None or self._left < 0:
            return
        self._left -= len(data)
        super().data_received(data)
        if self._left < 0 or len(self) > ANSWERS_WAITING:
            self._stop()

    def _stop(self) -> None:
        self._left = -1
        self.force_close()
        payload = self._payload
        if payload is not None and payload.total_bytes >= BODY_BYTES:
            self._pause_transport_reading()  # all that will be read is here; the reader closes
            return
        error = _EndlessAnswerError()
        self.set_exception(error)
        if payload is not None:
            payload.set_exception(error)
        if self.transport is not None:
            self.transport.abort()


def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


async def _start_of_body(content: aiohttp.StreamReader) -> bytes:
    """The first bytes of an answer's body, or all of it if it is short."""
    body = await content.read(BODY_BYTES)
    if content.at_eof():
        return body
    parts, left = [body], BODY_BYTES - len(body)
    while left and not content.at_eof():
        parts.append(await content.read(left))
        left -= len(parts[-1])
    return b"".join(parts)


def _name_of(error: Exception) -> str:
    match error:
        case aiohttp.ClientConnectorDNSError():
            return "name"
        case aiohttp.ClientSSLError():
            return "tls"
        case aiohttp.ClientConnectorError():
            return "refused_address" if isinstance(error.os_error, _RefusedAddressError) else "connect"
        case aiohttp.ClientConnectionError():
            return "cut"
        case TimeoutError():
            return "timeout"
        case aiohttp.ClientPayloadError():
            return "cut"
        case aiohttp.ClientError():
            return "protocol"
        case _:
            return "cut"
