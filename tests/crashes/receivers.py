"""Receivers of webhooks that misbehave at random, and remember what they accepted and in which order."""

import asyncio
import random
import socket
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

from standardwebhooks import Webhook, WebhookVerificationError

ACCEPTED = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BROKEN = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 6\r\n\r\nbroken"
REFUSED = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
HALF_HEADERS = b"HTTP/1.1 200 OK\r\nContent-Le"
HALF_BODY = b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf of i"

# What a receiver does with a request, and how often in a thousand; with the rest it answers at once as it should.
STORM = {"break": 40, "hang": 3, "cut": 20, "cut in headers": 15, "cut in body": 15, "be slow": 150}
AFTER_THE_STORM = {"break": 20, "cut": 10, "cut in headers": 10}
GOOD: dict[str, int] = {}


@dataclass
class Receiver:
    """One endpoint's server. `habits` can be changed while it runs."""

    chance: random.Random
    habits: dict[str, int] = field(default_factory=dict)
    slow_seconds: float = 0.6
    verifier: Webhook | None = None
    accepted: dict[str, float] = field(default_factory=dict)  # first acceptances in their order, and when
    requests: Counter[str] = field(default_factory=Counter)  # by event, whole ones only
    hanging: set[str] = field(default_factory=set)
    doubles: int = 0
    restarts: int = 0
    forged: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Bound and never listening: while the receiver is down its port is nobody else's.
        self._place = socket.socket()
        self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._place.bind(("127.0.0.1", 0))
        self.port: int = self._place.getsockname()[1]
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    async def listen(self, secret: str) -> None:
        self.verifier = Webhook(secret)
        await self._listen()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, reuse_port=True)

    async def restart(self, seconds: float) -> None:
        """Everything is cut, and for a moment nobody listens."""
        self._cut_all()
        try:
            await asyncio.sleep(seconds)
        finally:
            await self._listen()  # also if the run ends right now: nobody restarts it any more
        self.restarts += 1

    async def close(self) -> None:
        self._cut_all()
        self._place.close()
        await asyncio.gather(*self._serving)

    def _cut_all(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in self._connections:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._serving.add(task)
        self._connections.add(writer)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                while not writer.is_closing():
                    headers, body = await _request(reader)
                    await self._answer(reader, writer, headers, body)
        finally:
            writer.transport.abort()
            self._connections.discard(writer)
            self._serving.discard(task)

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: dict[str, str], body: bytes
    ) -> None:
        try:
            event_id = self.verifier.verify(body, headers)["id"]
        except WebhookVerificationError as error:
            self.forged.append(f"{headers}: {error}")
            writer.write(REFUSED)
            return
        self.requests[event_id] += 1
        match self._habit():
            case "break":
                writer.write(BROKEN)
            case "hang":
                self.hanging.add(event_id)
                await reader.read(1)  # until the other side leaves
                writer.transport.abort()
            case "cut":
                writer.transport.abort()
            case "cut in headers":
                await _send_and_cut(writer, HALF_HEADERS)
            case "cut in body":
                await _send_and_cut(writer, HALF_BODY)
            case "be slow":
                await asyncio.sleep(self.slow_seconds * self.chance.uniform(0.5, 1.5))
                self._accept(writer, event_id)
            case _:
                self._accept(writer, event_id)

    def _habit(self) -> str | None:
        place = self.chance.randrange(1000)
        for habit, share in self.habits.items():
            if place < share:
                return habit
            place -= share
        return None

    def _accept(self, writer: asyncio.StreamWriter, event_id: str) -> None:
        """Accepted is what was answered in full: a short answer leaves at once, or the connection is gone."""
        writer.write(ACCEPTED)
        if writer.is_closing() or writer.transport.get_write_buffer_size():
            return
        if event_id in self.accepted:
            self.doubles += 1
        else:
            self.accepted[event_id] = asyncio.get_running_loop().time()


async def _request(reader: asyncio.StreamReader) -> tuple[dict[str, str], bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("ascii").split("\r\n")[1:-2]
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
    return headers, await reader.readexactly(int(headers["content-length"]))


async def _send_and_cut(writer: asyncio.StreamWriter, half: bytes) -> None:
    writer.write(half)
    await writer.drain()
    writer.close()
