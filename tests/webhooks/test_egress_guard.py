"""No hostile endpoint leads to a forbidden place: listeners stand there, and every connect is counted.

Nothing leaves the machine: a connect to a public address is refused by the test, or led to a receiver of its own.
"""

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pickupbox.webhooks import egress as way_out
from pickupbox.webhooks.addresses import is_allowed
from pickupbox.webhooks.egress import Egress
from tests.webhooks.hostile import PUBLIC_4, PUBLIC_6, REDIRECTS, Hostile, Maker
from tests.webhooks.servers import Names, Receiver, certificate, read_request, receiver

SEED, COUNT = 20_260_101, 10_000


@dataclass
class Street:
    """Listeners on forbidden addresses, one receiver behind a public address, and what was connected to."""

    places: list[str]
    port: int
    listeners: list[Receiver]
    connects: list[str] = field(default_factory=list)

    @property
    def arrived(self) -> int:
        return sum(listener.connections for listener in self.listeners)

    @property
    def forbidden(self) -> list[str]:
        return [address for address in self.connects if address not in PUBLIC_4 + PUBLIC_6]


@contextlib.asynccontextmanager
async def street(monkeypatch: pytest.MonkeyPatch, folder: Path) -> AsyncIterator[Street]:
    trusted, tls = certificate(folder, REDIRECTS)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    loop = asyncio.get_running_loop()
    really_connect = loop.sock_connect
    async with contextlib.AsyncExitStack() as stack:
        redirects = await stack.enter_async_context(receiver(_redirect, tls=tls))
        first = await stack.enter_async_context(receiver(_hang_up))
        made = Street(["127.0.0.1"], first.port, [first])
        for address in ("127.0.0.2", "127.200.1.9", "::1", *_own_addresses()):
            with contextlib.suppress(OSError):  # no IPv6 here, or the port is taken there
                made.listeners.append(
                    await stack.enter_async_context(receiver(_hang_up, address=address, port=first.port))
                )
                made.places.append(address)

        async def connect(sock: socket.socket, address: tuple[Any, ...]) -> None:
            made.connects.append(address[0])
            if address[0] in made.places:
                await really_connect(sock, address)
            elif address == (PUBLIC_4[0], 443):
                await really_connect(sock, ("127.0.0.1", redirects.port))
            else:
                raise ConnectionRefusedError(111, "nothing leaves the machine")

        monkeypatch.setattr(loop, "sock_connect", connect)
        yield made


async def test_ten_thousand_hostile_endpoints_reach_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with street(monkeypatch, tmp_path) as there:
        cases = list(Maker(SEED, there.places, there.port).make(COUNT))
        outcomes = await _post_all(cases, loopback=False)
        assert (there.arrived, there.forbidden) == (0, [])
    assert len(there.listeners) >= 3
    assert sum(outcomes.values()) >= COUNT
    redirected = {outcome for kind, outcome in outcomes if kind == "redirect"}
    assert redirected == {301, 302, 303, 307, 308}
    assert {outcome for kind, outcome in outcomes if kind in {"name", "name_6"}} == {"refused_address"}
    turned = sum(case.kind == "second_time" for case in cases)
    assert outcomes["second_time", "refused_address"] == 2 * turned
    assert outcomes["second_time", "connect"] + outcomes["second_time", "tls"] == turned
    lying = {"second_time", "mix", "redirect"}
    assert {outcome for kind, outcome in outcomes if kind not in lying} == {"refused_address"}


async def test_the_guard_at_the_socket_holds_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(way_out, "objection", lambda url, *, loopback: None)
    async with street(monkeypatch, tmp_path) as there:
        await _post_all(list(Maker(SEED + 1, there.places, there.port).make(2000)), loopback=False)
        assert (there.arrived, there.forbidden) == (0, [])


async def test_the_listeners_would_see_what_got_through(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(way_out, "objection", lambda url, *, loopback: None)
    monkeypatch.setattr(way_out, "is_allowed", lambda address, *, loopback: True)
    async with street(monkeypatch, tmp_path) as there:
        await _post_all(list(Maker(SEED, there.places, there.port).make(500)), loopback=False)
        assert there.arrived > 50
        assert len(there.forbidden) > 100
        assert all(listener.connections for listener in there.listeners)


async def test_opening_loopback_opens_loopback_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with street(monkeypatch, tmp_path) as there:
        await _post_all(list(Maker(SEED + 2, there.places, there.port).make(2000)), loopback=True)
        assert there.arrived > 0
        assert [address for address in there.forbidden if not is_allowed(address, loopback=True)] == []


async def test_what_was_looked_up_is_what_is_connected_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    name = "turns.shop.example"
    names = Names({name: [[PUBLIC_4[1]], ["127.0.0.1"]]})
    async with street(monkeypatch, tmp_path) as there:
        egress = Egress(loopback=False, seconds=5, resolver=names)
        assert (await egress.post(f"https://{name}/", b"{}", {})).error == "connect"
        assert (names.lookups, set(there.connects)) == ({name: 1}, {PUBLIC_4[1]})
        assert (await egress.post(f"https://{name}:{there.port}/", b"{}", {})).error == "refused_address"
        assert (names.lookups, set(there.connects)) == ({name: 2}, {PUBLIC_4[1]})
        await egress.close()


async def test_a_name_with_a_thousand_addresses_is_a_few_connects(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    many = [f"8.8.{at // 250}.{at % 250 + 1}" for at in range(1000)]
    async with street(monkeypatch, tmp_path) as there:
        egress = Egress(loopback=False, seconds=5, resolver=Names({}, others=many))
        assert (await egress.post("https://many.shop.example/", b"{}", {})).error == "connect"
        assert len(there.connects) <= 10
        await egress.close()


async def _post_all(cases: list[Hostile], *, loopback: bool) -> Counter[tuple[str, int | str | None]]:
    known = {name: lists for case in cases for name, lists in case.names.items()}
    egress = Egress(loopback=loopback, seconds=5, resolver=Names(known, others=["127.0.0.1"]))
    outcomes: Counter[tuple[str, int | str | None]] = Counter()
    waiting = iter(cases)

    async def post_some() -> None:
        for case in waiting:
            for url in case.urls:
                answer = await egress.post(url, b"{}", {})
                outcomes[case.kind, answer.status or answer.error] += 1

    async with asyncio.timeout(60):
        await asyncio.gather(*(post_some() for _ in range(8)))
    await egress.close()
    return outcomes


def _own_addresses() -> list[str]:
    """This machine's addresses on its network, as far as they are forbidden ones."""
    found = []
    for family, beyond in ((socket.AF_INET, PUBLIC_4[0]), (socket.AF_INET6, PUBLIC_6[0])):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect((beyond, 9))  # sends nothing; it only tells which address would be used
            found.append(sock.getsockname()[0])
    return [address for address in found if not is_allowed(address, loopback=False)]


async def _hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        path = (await read_request(reader)).split()[1].decode()
        _, status, scheme, host, port = path.split("/")
        to = f"{scheme}://{host}:{port}/"
        writer.write(f"HTTP/1.1 {status} Away\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode())
