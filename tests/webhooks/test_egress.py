"""The guarded way out: what comes back is named, what is too much is not read, and nothing else of it gets in."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from pickupbox.webhooks.egress import Egress
from tests.webhooks.servers import CHUNKED, OK, Names, SlowNames, answering, certificate, read_request, receiver


@pytest_asyncio.fixture
async def egress() -> AsyncIterator[Egress]:
    way_out = Egress(loopback=True, seconds=5)
    yield way_out
    await way_out.close()


@pytest_asyncio.fixture
async def hasty() -> AsyncIterator[Egress]:
    way_out = Egress(loopback=True, seconds=0.4)
    yield way_out
    await way_out.close()


async def test_a_post_arrives_as_it_is_and_the_answer_comes_back(egress: Egress) -> None:
    requests = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await read_request(reader))
        writer.write(b"HTTP/1.1 503 Busy\r\nRetry-After: 120\r\nSet-Cookie: a=b\r\nContent-Length: 4\r\n\r\nbusy")
        requests.append(await read_request(reader))
        writer.write(OK)

    async with receiver(talk) as server:
        answer = await egress.post(server.url + "?a=%2F", b'{"a":1}', {"webhook-id": "evt_1"})
        again = await egress.post(server.url, b"{}", {})
    assert (answer.status, answer.error, answer.body, answer.retry_after) == (503, None, b"busy", "120")
    assert 0 < answer.seconds < 5
    assert again.status == 200
    head, body = requests[0].split(b"\r\n\r\n")
    assert body == b'{"a":1}'
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /hook?a=%2F HTTP/1.1"
    headers = dict(line.split(": ", 1) for line in lines[1:])
    assert headers["Content-Type"] == "application/json"
    assert headers["User-Agent"].startswith("pickupbox/")
    assert headers["webhook-id"] == "evt_1"
    assert headers["Accept-Encoding"] == "identity"
    assert b"cookie" not in requests[1].lower()


async def test_a_connection_is_used_again(egress: Egress) -> None:
    async with receiver(answering(OK)) as server:
        for _ in range(5):
            assert (await egress.post(server.url, b"{}", {})).body == b"ok"
        assert server.connections == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_an_answer_and_is_not_followed(egress: Egress, status: int) -> None:
    async with receiver(answering(OK)) as other:
        away = f"HTTP/1.1 {status} Away\r\nLocation: {other.url}\r\nContent-Length: 0\r\n\r\n".encode()
        async with receiver(answering(away)) as server:
            assert (await egress.post(server.url, b"{}", {})).status == status
        assert other.connections == 0


async def test_proxies_and_passwords_of_the_environment_are_ignored(
    egress: Egress, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    requests = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await read_request(reader))
        writer.write(OK)

    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password something\n")
    monkeypatch.setenv("NETRC", str(netrc))
    async with receiver(answering(OK)) as proxy, receiver(talk) as server:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            monkeypatch.setenv(name.lower(), f"http://127.0.0.1:{proxy.port}")
        assert (await egress.post(server.url, b"{}", {})).status == 200
        assert (proxy.connections, server.connections) == (0, 1)
    assert b"authorization" not in requests[0].lower()


async def close_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Speak plainly\r\n\r\n")
    await reader.read()


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


def closing_after(sent: bytes) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(sent)

    return talk


@pytest.mark.parametrize(
    ("talk", "error"),
    [
        (close_at_once, "cut"),
        (reset, "cut"),
        (closing_after(b"HTTP/1.1 20"), "cut"),
        (closing_after(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n"), "cut"),
        (closing_after(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), "cut"),
        (closing_after(CHUNKED + b"4\r\nha"), "cut"),
        (hang, "timeout"),
        (answering(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), "timeout"),
        (answering(b"HTTP/1.1 100 Continue\r\n\r\n"), "timeout"),
        (answering(b"SSH-2.0-OpenSSH_9.6\r\n"), "protocol"),
        (answering(b"\x15\x03\x01\x00\x02\x02\x28" * 9), "protocol"),
        (answering(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), "protocol"),
        (answering(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"), "protocol"),
        (answering(CHUNKED + b"zz\r\nab\r\n"), "protocol"),
        (answering(CHUNKED, b"2\r\nab\r\n", b"zz\r\nab\r\n"), "protocol"),
        (answering(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 9000 + b"\r\n\r\n"), "protocol"),
        (answering(b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 65 + b"\r\n"), "protocol"),
    ],
)
async def test_what_went_wrong_has_a_name(
    egress: Egress,
    hasty: Egress,
    talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    error: str,
) -> None:
    async with receiver(talk) as server:
        answer = await (hasty if error == "timeout" else egress).post(server.url, b"{}", {})
    assert (answer.status, answer.error, answer.body, answer.retry_after) == (None, error, b"", None)
    assert answer.seconds < 2


@pytest.mark.parametrize(
    ("sent", "status", "body"),
    [
        (b"HTTP/1.1 204 None\r\n\r\n", 204, b""),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, b"until the end"),
        (CHUNKED + b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", 200, b"abc"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + OK, 200, b"ok"),
        (b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nanything", 101, b""),
        (b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n", 999, b""),
    ],
)
async def test_an_unusual_answer_is_an_answer(egress: Egress, sent: bytes, status: int, body: bytes) -> None:
    async with receiver(closing_after(sent)) as server:
        answer = await egress.post(server.url, b"{}", {})
    assert (answer.status, answer.error, answer.body) == (status, None, body)


async def test_nobody_listening_is_a_failed_connect(egress: Egress) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert (await egress.post(f"http://127.0.0.1:{port}/", b"{}", {})).error == "connect"


async def test_a_name_that_is_not_there_or_has_no_address_is_named() -> None:
    egress = Egress(loopback=False, seconds=1, resolver=Names({"empty.shop.example": [[]]}))
    assert (await egress.post("https://gone.shop.example/", b"{}", {})).error == "name"
    assert (await egress.post("https://empty.shop.example/", b"{}", {})).error == "name"
    await egress.close()


async def test_a_name_server_that_never_answers_costs_the_limit() -> None:
    egress = Egress(loopback=False, seconds=0.3, resolver=SlowNames())
    answer = await egress.post("https://slow.shop.example/", b"{}", {})
    assert answer.error == "timeout"
    assert 0.3 <= answer.seconds < 1
    await egress.close()


async def test_names_are_looked_up_without_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio.get_running_loop(), "run_in_executor", None)
    egress = Egress(loopback=True, seconds=5)
    async with receiver(answering(OK)) as server:
        assert (await egress.post(f"http://localhost:{server.port}/", b"{}", {})).status == 200
    await egress.close()


async def test_a_name_is_looked_up_once_for_many_deliveries() -> None:
    names = Names({"localhost": [["127.0.0.1"]]})
    egress = Egress(loopback=True, seconds=5, resolver=names)
    async with receiver(answering(OK.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"))) as server:
        for _ in range(3):
            assert (await egress.post(f"http://localhost:{server.port}/", b"{}", {})).status == 200
        assert server.connections == 3
    assert names.lookups == {"localhost": 1}
    await egress.close()


async def test_a_certificate_must_be_trusted_and_of_the_same_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = Names({}, others=["127.0.0.1"])
    trusted, context = certificate(tmp_path, "hooks.shop.example", "localhost")
    async with receiver(answering(OK), tls=context) as server, receiver(shout) as plain:
        stranger = Egress(loopback=True, seconds=5, resolver=names)
        assert (await stranger.post(f"https://localhost:{server.port}/", b"{}", {})).error == "tls"
        await stranger.close()
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
        egress = Egress(loopback=True, seconds=5, resolver=names)
        assert (await egress.post(f"https://localhost:{server.port}/", b"{}", {})).status == 200
        assert (await egress.post(f"https://hooks.shop.example:{server.port}/", b"{}", {})).status == 200
        assert (await egress.post(f"https://other.shop.example:{server.port}/", b"{}", {})).error == "tls"
        assert (await egress.post(f"https://127.0.0.1:{server.port}/", b"{}", {})).error == "tls"
        assert (await egress.post(f"https://localhost:{plain.port}/", b"{}", {})).error == "tls"
        await egress.close()


async def test_cancelling_passes_through_and_hangs_up(egress: Egress) -> None:
    asked, left = asyncio.Event(), asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        asked.set()
        assert await reader.read() == b""
        left.set()

    async with receiver(talk) as server:
        post = asyncio.create_task(egress.post(server.url, b"{}", {}))
        async with asyncio.timeout(5):
            await asked.wait()
            post.cancel()
            with pytest.raises(asyncio.CancelledError):
                await post
            await left.wait()
