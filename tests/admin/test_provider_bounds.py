"""What a firm's provider, and who asks for it, can cost us: bytes, threads and questions, all bounded; and where it
may be."""

import asyncio
import gzip
import json
import secrets
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from functools import partial

import httpx2
import pytest
from aiohttp import AsyncResolver
from aiohttp.abc import AbstractResolver, ResolveResult

from pickupbox.admin.app import make_app
from pickupbox.domain.people import FREE_FAILURES_OF_AN_ADDRESS, ProviderAway
from pickupbox.settings import Settings
from pickupbox.usecases import openid
from pickupbox.usecases.core import Core
from pickupbox.usecases.passwords import is_password
from pickupbox.usecases.single_sign_on import set_provider
from tests.admin.office import Person, client_of
from tests.admin.people import PASSWORD, Someone, someone
from tests.support.shop import Shop


@dataclass(slots=True)
class Endpoint:
    """Where a provider says where it does what, as it pleases."""

    port: int = 0
    padding: int = 0
    encoding: str | None = None
    asked: list[str] = field(default_factory=list)

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
        names = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/keys"}
        said = {"issuer": self.issuer, **{name: self.issuer + path for name, path in names.items()}}
        body = json.dumps(said).encode() + b" " * self.padding
        head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
        if self.encoding is not None:
            head += f"Content-Encoding: {self.encoding}\r\n"
            body = gzip.compress(body) if self.encoding.lower() == "gzip" else body
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    endpoint = Endpoint()
    async with await asyncio.start_server(endpoint.answer, "127.0.0.1", 0) as server:
        endpoint.port = server.sockets[0].getsockname()[1]
        yield endpoint


async def test_a_provider_is_asked_for_plain_answers(endpoint: Endpoint) -> None:
    assert (await openid.discover(endpoint.issuer, loopback=True)).token_endpoint == f"{endpoint.issuer}/token"
    assert "\naccept-encoding: identity\r\n" in endpoint.asked[0]


@pytest.mark.parametrize(("encoding", "padding"), [("gzip", 32 * 2**20), ("GZIP", 0), ("br", 0)])
async def test_a_compressed_answer_is_not_opened(endpoint: Endpoint, encoding: str, padding: int) -> None:
    endpoint.encoding, endpoint.padding = encoding, padding
    with pytest.raises(ProviderAway):
        await openid.discover(endpoint.issuer, loopback=True)


async def test_a_provider_is_asked_once_in_some_minutes(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openid, "KEPT_SECONDS", 1.0)
    found = [await openid.find(endpoint.issuer, loopback=True) for _ in range(3)]
    assert (len(endpoint.asked), len(set(found))) == (1, 1)
    with pytest.raises(ProviderAway):
        await openid.find(endpoint.issuer, loopback=False)
    await asyncio.sleep(1.1)
    await openid.find(endpoint.issuer, loopback=True)
    assert len(endpoint.asked) == 2


async def test_not_more_providers_are_kept_than_have_room(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openid, "MOST_KEPT", 2)
    for slashes in ("", "/", "//", "///"):
        await openid.find(endpoint.issuer + slashes, loopback=True)
    assert len(openid._kept) <= 2


class Leading(AbstractResolver):
    """Every name leads to this machine."""

    async def resolve(self, host: str, port: int = 0, family: int = socket.AF_INET) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host, host="127.0.0.1", port=port, family=socket.AF_INET, proto=0, flags=socket.AI_NUMERICHOST
            )
        ]

    async def close(self) -> None:
        pass


async def test_a_name_that_leads_to_this_machine_is_not_connected_to() -> None:
    transport = openid.Guarded(loopback=False, resolver=Leading())
    with pytest.raises(httpx2.ConnectError, match="may not be used"):
        await transport.handle_async_request(httpx2.Request("GET", "https://id.firm.test/"))
    await transport.aclose()


@pytest.fixture
async def owner(core: Core, shop: Shop, endpoint: Endpoint) -> Someone:
    """Of a firm that lets people in by its provider only."""
    opened = replace(core, webhook_loopback=True)
    domain = f"{secrets.token_hex(6)}.test"
    owner = await someone(opened, shop.tenant, email=f"owner@{domain}")
    await set_provider(
        opened,
        owner.caller,
        owner_email=owner.email,
        domain=domain,
        issuer=endpoint.issuer,
        client_id="pickupbox",
        client_secret="known to both",
        only_way=True,
    )
    return owner


async def test_strangers_begin_so_many_sign_ins_at_a_provider_and_no_more(owner: Someone, settings: Settings) -> None:
    behind = settings.model_copy(update={"admin_proxies": 1})
    browser = Person(client_of(make_app(owner.core, behind)), owner.core, "", "")
    address, other = (f"2001:db8:{secrets.token_hex(2)}:{secrets.token_hex(2)}::" for _ in range(2))
    async with browser.http:

        async def asked(address: str, path: str = "/sign-in") -> int:
            answer = await browser.post(path, {"email": owner.email}, **{"X-Forwarded-For": address})
            return answer.status_code

        for number in range(FREE_FAILURES_OF_AN_ADDRESS):
            assert await asked(f"{address}{number:x}") == 200
        assert await asked(f"{address}ffff") == 429
        assert await asked(f"{address}ffff", "/sign-in/provider") == 429
        assert await asked(f"{other}1") == 200


async def test_a_slow_name_server_holds_up_nobodys_password(owner: Someone, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = (await owner.row()).password_hash
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        slow = partial(AsyncResolver, nameservers=["127.0.0.1"], udp_port=port, tcp_port=port, timeout=5, tries=1)
        monkeypatch.setattr(openid, "AsyncResolver", slow)
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(5))
        names = [f"https://{number}.slow.example" for number in range(40)]  # more than there are threads
        lookups = [asyncio.create_task(openid.discover(name, loopback=False)) for name in names]
        await asyncio.sleep(0.5)
        began = time.perf_counter()
        assert await is_password(PASSWORD, kept)
        assert time.perf_counter() - began < 1
        assert not any(lookup.done() for lookup in lookups)
        for lookup in lookups:
            lookup.cancel()
        await asyncio.gather(*lookups, return_exceptions=True)
