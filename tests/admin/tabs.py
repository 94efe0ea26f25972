"""Open pages as the administration's streams see them, and how long a door's movement takes to reach them."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import chain
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from pickupbox.admin.admission import SESSION
from pickupbox.settings import Settings
from tests.support.databases import environment_of
from tests.support.processes import Process, free_port

ROUNDS = 3

type Move = Callable[[str, str], Awaitable[object]]  # a box, and `open` or `close`


@contextmanager
def an_administration(settings: Settings, folder: Path) -> Iterator[str]:
    """The address of an administration that runs as a process of its own."""
    port = free_port()
    process = Process(["admin", "--port", str(port)], environment_of(settings), folder / "admin.log")
    try:
        process.wait_until_ready(f"http://127.0.0.1:{port}/readyz")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.stop()


class Tab:
    """One open page: everything that it was told, and a way to wait for a text."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self.told = ""

    async def read_until(self, *texts: str) -> float:
        """When the texts had come, in this order."""
        for text in texts:
            while text not in self.told:
                more = await self._reader.read(65_536)
                assert more, f"the stream ended: {self.told[-300:]}"
                self.told += more.decode()
            self.told = self.told.partition(text)[2]
        return time.perf_counter()


@asynccontextmanager
async def tab(served: str, token: str, watch: str) -> AsyncIterator[Tab]:
    address = urlsplit(served)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=2**20)
    try:
        writer.write(
            f"GET /live?{watch} HTTP/1.1\r\nHost: {address.netloc}\r\nCookie: {SESSION}={token}\r\n\r\n".encode()
        )
        await writer.drain()
        opened = Tab(reader)
        await opened.read_until("HTTP/1.1 200", "text/event-stream")
        yield opened
    finally:
        writer.close()


async def measure(served: str, tokens: Sequence[str], boxes: Sequence[str], pages: int, move: Move) -> float:
    """Open and close door A1 of every box, some rounds; seconds until it stood open on 95 of 100 pages, in the median
    round: on a machine that others use, too, one round may be theirs."""
    rounds: list[list[float]] = [[] for _ in range(ROUNDS)]
    moved: dict[str, float] = {}
    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        ready = asyncio.Barrier(pages + 1)

        async def look(box: str, token: str) -> None:
            watch = "&".join(f"watch={topic}:{box}" for topic in ("box", "pulse", "feed"))
            async with tab(served, token, watch) as page:
                await page.read_until("event: cabinet", "event: pulse", "event: feed")
                for took in rounds:
                    await ready.wait()
                    arrived = await page.read_until('edge-ajar" id="door-A1"')
                    took.append(arrived - moved[box])
                    await page.read_until('edge-closed" id="door-A1"')

        for number in range(pages):
            tasks.create_task(look(boxes[number % len(boxes)], tokens[number % len(tokens)]))
        for _ in range(ROUNDS):
            await ready.wait()
            await asyncio.sleep(0.3)
            for box in boxes:
                moved[box] = time.perf_counter()
                await move(box, "open")
            await asyncio.sleep(1)
            for box in boxes:
                await move(box, "close")
    assert [len(took) for took in rounds] == [pages] * ROUNDS
    whole = sorted(chain(*rounds))
    print(
        f"{pages} pages of {len(boxes)} boxes: p50 {_part(whole, 0.5) * 1000:.0f} ms, "
        f"p95 {_part(whole, 0.95) * 1000:.0f} ms, most {whole[-1] * 1000:.0f} ms"
    )
    return median(_part(sorted(took), 0.95) for took in rounds)


def _part(ordered: Sequence[float], part: float) -> float:
    return ordered[int(len(ordered) * part)]
