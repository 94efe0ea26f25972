"""What stands on a developer's desk: `pickupbox listen` as a process, a server of their own, and a bad network."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tests.support.processes import free_port

SECONDS = 60
COMMAND = [sys.executable, "-m", "pickupbox"]


@dataclass
class Listener:
    """A `pickupbox listen` that runs, and what it says."""

    arguments: tuple[str, ...]
    variables: dict[str, str]
    folder: Path

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        with (self.folder / "out").open("ab") as out, (self.folder / "err").open("ab") as err:
            self.process = subprocess.Popen(
                [*COMMAND, "listen", *self.arguments], env=self.variables, stdout=out, stderr=err
            )

    def said(self) -> str:
        """Everything beside the events."""
        return (self.folder / "err").read_text()

    def lines(self) -> list[str]:
        """The events, a line for each."""
        return (self.folder / "out").read_text().splitlines()

    def events(self) -> list[dict[str, Any]]:
        """With --json: what it printed."""
        return [json.loads(line) for line in self.lines()]

    async def says(self, text: str, times: int = 1) -> None:
        await within(lambda: self.said().count(text) >= times, lambda: f"it did not say {text!r}: {self.said()}")

    async def prints(self, count: int) -> list[str]:
        await within(lambda: len(self.lines()) >= count, lambda: f"{count} expected: {self.lines()} {self.said()}")
        return self.lines()

    async def ended(self) -> int:
        return await asyncio.to_thread(self.process.wait, SECONDS)

    async def interrupt(self) -> int:
        """Ctrl-C; its exit code."""
        self.process.send_signal(signal.SIGINT)
        return await self.ended()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(SECONDS)


@dataclass
class Desk:
    """Starts listeners that remember in a folder of their own, and ends them."""

    base_url: str
    api_key: str
    folder: Path
    listeners: list[Listener] = field(default_factory=list)

    @property
    def variables(self) -> dict[str, str]:
        ours = {"BASE_URL": self.base_url, "API_KEY": self.api_key, "XDG_STATE_HOME": str(self.folder)}
        return {**os.environ, "COLUMNS": "200", **ours}

    def listen(self, *arguments: str, **variables: str) -> Listener:
        own = self.folder / f"listener-{len(self.listeners)}"
        own.mkdir()
        self.listeners.append(Listener(arguments, {**self.variables, **variables}, own))
        return self.listeners[-1]

    def close(self) -> None:
        for listener in self.listeners:
            if listener.process.poll() is None:
                listener.kill()


async def within(is_so: Callable[[], bool], otherwise: Callable[[], str], seconds: float = SECONDS) -> None:
    end = asyncio.get_running_loop().time() + seconds
    while not is_so():
        assert asyncio.get_running_loop().time() < end, otherwise()
        await asyncio.sleep(0.05)


@dataclass
class Server:
    """A shop's server that answers as the test says, and remembers what came."""

    url: str
    status: Callable[[dict[str, Any]], int] = lambda _: 200
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    def told(self) -> list[tuple[str, str]]:
        """Type and order of what came, refused or not."""
        bodies = [json.loads(body) for _, body in self.got]
        return [(body["type"], body["data"]["external_order_id"]) for body in bodies]


@contextmanager
def serving(port: int | None = None, status: Callable[[dict[str, Any]], int] = lambda _: 200) -> Iterator[Server]:
    server = Server("", status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            server.got.append((dict(self.headers), body))
            self.send_response(server.status(json.loads(body)))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port or free_port()), Handler) as http:
        http.daemon_threads = True
        server.url = f"http://127.0.0.1:{http.server_port}/hook"
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join(SECONDS)


class Network:
    """A way to the API that can be cut: at once, or in the middle of the next answer."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.cuts = 0
        self._live: set[asyncio.StreamWriter] = set()
        self._bytes_left: int | None = None

    def cut(self) -> bool:
        """Abort what is under way; whether there was anything."""
        live = list(self._live)
        for writer in live:
            writer.transport.abort()
        self.cuts += bool(live)
        return bool(live)

    def cut_in_answer(self, after: int) -> None:
        """Let so many bytes of the next answer through, then abort."""
        self._bytes_left = after

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
            self._live.add(writer)
            try:
                await asyncio.gather(self._pump(reader, back), self._pump(there, writer, answers=True))
            finally:
                self._live.discard(writer)
                back.transport.abort()
        writer.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, to: asyncio.StreamWriter, *, answers: bool = False) -> None:
        while data := await source.read(65536):
            if answers and self._bytes_left is not None:
                to.write(data[: self._bytes_left])
                self._bytes_left = None
                await to.drain()
                self.cut()
                return
            to.write(data)
            await to.drain()
        to.transport.abort()


@asynccontextmanager
async def network_to(port: int) -> AsyncIterator[tuple[Network, int]]:
    network = Network(port)
    server = await asyncio.start_server(network.serve, "127.0.0.1", 0)
    try:
        yield network, server.sockets[0].getsockname()[1]
    finally:
        server.close()
        network.cut()
