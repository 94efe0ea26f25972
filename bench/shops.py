"""Shops that receive webhooks, good and bad ones, in a process of their own.

`python -m bench.shops HEALTHY HANGS DRIPS` (three ports); a GET of the healthy one answers how long each event took
from its commit to here, and forgets.
"""

import asyncio
import json
import sys
import time
from datetime import datetime

import uvloop

ACCEPTED = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Healthy(asyncio.Protocol):
    seconds: list[float] = []  # noqa: RUF012 - one list for the process, told and emptied by a GET

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, rest = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        if head.startswith(b"GET"):
            body = json.dumps(self.seconds).encode()
            self.seconds.clear()
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
            self._received = b""
            return
        place = head.lower().index(b"content-length: ") + 16
        if len(rest) >= int(head[place:].partition(b"\r\n")[0]):
            occurred = datetime.fromisoformat(json.loads(rest)["occurred_at"]).timestamp()
            self.seconds.append(time.time() - occurred)
            self._transport.write(ACCEPTED)
            self._received = b""


class Hangs(asyncio.Protocol):
    """Takes the connection and what is sent, and never answers."""


class Drips(asyncio.Protocol):
    """Answers a byte a second."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._dripping = asyncio.create_task(self._drip(transport))

    async def _drip(self, transport: asyncio.BaseTransport) -> None:
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"." * 100:
            transport.write(bytes([byte]))
            await asyncio.sleep(1)

    def connection_lost(self, _: Exception | None) -> None:
        self._dripping.cancel()


async def serve(ports: list[int]) -> None:
    loop = asyncio.get_running_loop()
    servers = [
        await loop.create_server(kind, "127.0.0.1", port)
        for kind, port in zip((Healthy, Hangs, Drips), ports, strict=True)
    ]
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    uvloop.run(serve([int(port) for port in sys.argv[1:4]]))
