"""The guarded way out is bounded: a huge answer and a slow one cost little memory and no more than the limit."""

import asyncio
import gzip
import tracemalloc
from collections.abc import AsyncIterator, Awaitable

import pytest
import pytest_asyncio
import uvloop

from pickupbox.webhooks.egress import BODY_BYTES, Answer, Egress
from tests.webhooks.servers import CHUNKED, OK, answering, flood, read_request, receiver

MIB = 1024 * 1024
HEAD = b"HTTP/1.1 200 OK\r\n"
GZIP_BOMB = gzip.compress(bytes(64 * MIB)) * 16

FLOODS = {
    "length": (HEAD + b"Content-Length: 1073741824\r\n\r\n", bytes(MIB), 200),
    "until_the_end": (HEAD + b"\r\n", bytes(MIB), 200),
    "chunks": (CHUNKED, b"100000\r\n" + bytes(MIB) + b"\r\n", 200),
    "gzip_bomb": (HEAD + b"Content-Encoding: gzip\r\nContent-Length: 1073741824\r\n\r\n", GZIP_BOMB, 200),
    "small_chunks": (CHUNKED, b"1\r\na\r\n" * 100_000, "protocol"),
    "chunk_extension": (CHUNKED + b"1;", b"a" * MIB, "protocol"),
    "trailers": (CHUNKED + b"1\r\na\r\n0\r\n", b"X: a\r\n" * 100_000, "protocol"),
    "headers": (HEAD, b"X: a\r\n" * 100_000, "protocol"),
    "long_header": (HEAD + b"X: ", b"a" * MIB, "protocol"),
    "status_line": (b"HTTP/1.1 200 ", b"a" * MIB, "protocol"),
    "interim_answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 40_000, "protocol"),
    "empty_lines": (b"", b"\r\n" * 500_000, "protocol"),
}


@pytest_asyncio.fixture
async def egress() -> AsyncIterator[Egress]:
    way_out = await _warm(Egress(loopback=True, seconds=5))
    yield way_out
    await way_out.close()


@pytest.mark.parametrize("kind", FLOODS)
async def test_a_gibibyte_of_answer_costs_less_than_a_mebibyte(egress: Egress, kind: str) -> None:
    start, block, expected = FLOODS[kind]
    async with flood(start, block, 1024) as server:
        answer, peak = await _measured(egress.post(server.url, b"{}", {}))
    assert (answer.status or answer.error) == expected
    assert len(answer.body) == (BODY_BYTES if expected == 200 else 0)
    assert peak < MIB
    assert answer.seconds < 2


@pytest.mark.parametrize("more", [OK * 20_000, b"HTTP/1.1 204 x\r\n\r\n" * 40_000, CHUNKED + b"1;" + b"a" * MIB])
async def test_a_server_that_goes_on_talking_after_its_answer_is_left(egress: Egress, more: bytes) -> None:
    async with flood(OK, more, 1024, at_once=False) as server:
        answer = await egress.post(server.url, b"{}", {})
        _, peak = await _measured(_until_hung_up(server.go_on.set, server.thread.join))
        assert not server.thread.is_alive()
    assert answer.body == b"ok"
    assert peak < MIB


async def test_an_answer_that_comes_before_its_question_is_not_taken_for_one(egress: Egress) -> None:
    sent = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK)
        await writer.drain()
        if not sent.is_set():
            await asyncio.sleep(0.05)  # the first answer has been read by then, and the connection is idle
            writer.write(OK.replace(b"200", b"299"))
            await writer.drain()
            sent.set()
        await reader.read()

    async with receiver(talk) as server:
        assert (await egress.post(server.url, b"{}", {})).status == 200
        async with asyncio.timeout(5):
            await sent.wait()
        await asyncio.sleep(0.05)
        assert (await egress.post(server.url, b"{}", {})).status == 200
        assert server.connections == 2


async def _drip_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    for sign in HEAD + b"X: " + b"a" * 100:
        writer.write(bytes([sign]))
        await asyncio.sleep(1)


async def _drip_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.write(HEAD + b"Content-Length: 100\r\n\r\n")
    for _ in range(100):
        writer.write(b"a")
        await asyncio.sleep(1)


@pytest.mark.slow
async def test_a_drip_of_a_byte_a_second_costs_fifteen_seconds_and_less_than_a_mebibyte() -> None:
    egress = await _warm(Egress(loopback=True))
    async with receiver(_drip_headers) as headers, receiver(_drip_body) as body:

        async def both() -> list[Answer]:
            return await asyncio.gather(*(egress.post(server.url, b"{}", {}) for server in (headers, body)))

        answers, peak = await _measured(both())
    await egress.close()
    assert [answer.error for answer in answers] == ["timeout", "timeout"]
    assert all(15 <= answer.seconds < 15.9 for answer in answers)
    assert peak < MIB


@pytest.mark.parametrize("kind", ["length", "chunks", "interim_answers", "headers"])
async def test_the_bounds_hold_on_the_loop_of_the_worker(kind: str) -> None:
    start, block, expected = FLOODS[kind]

    async def on_uvloop(url: str) -> tuple[Answer, int]:
        egress = await _warm(Egress(loopback=True, seconds=5))
        result = await _measured(egress.post(url, b"{}", {}))
        assert (await egress.post("https://10.0.0.1/", b"{}", {})).error == "refused_address"
        await egress.close()
        return result

    async with flood(start, block, 1024) as server:
        answer, peak = await asyncio.to_thread(uvloop.run, on_uvloop(server.url))
    assert (answer.status or answer.error) == expected
    assert peak < MIB


async def _warm(egress: Egress) -> Egress:
    """What a first post allocates for good is not the flood's."""
    async with receiver(answering(OK)) as server:
        assert (await egress.post(server.url, b"{}", {})).status == 200
    return egress


async def _until_hung_up(go_on: object, join: object) -> None:
    go_on()
    await asyncio.to_thread(join, 10)


async def _measured[Result](work: Awaitable[Result]) -> tuple[Result, int]:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = await work
        return result, tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
