"""What is live: a door that opens changes on every page that shows it, at once, and nobody polls."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pickupbox.admin.admission import SESSION
from pickupbox.domain.doors import Happening
from pickupbox.domain.roles import Role
from pickupbox.settings import Settings
from pickupbox.usecases.removal import open_for_removal
from tests.admin.office import Office
from tests.devices.street import Journal, add_device, operator, place_of
from tests.support.databases import environment_of
from tests.support.processes import Process, free_port
from tests.support.shop import Shop

PAGES = 200
BOXES = 20
ROUNDS = 3
SECONDS = 0.5


@pytest.fixture(scope="module")
def served(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an administration that runs as a process of its own."""
    port = free_port()
    log = tmp_path_factory.mktemp("admin") / "log"
    process = Process(["admin", "--port", str(port)], environment_of(settings), Path(log))
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


@pytest.mark.slow
async def test_a_door_that_opens_changes_on_200_open_pages_within_half_a_second(
    office: Office, shop: Shop, served: str
) -> None:
    boxes = [await shop.add_box() for _ in range(BOXES)]
    journals = [Journal(shop.core, await add_device(shop, box)) for box in boxes]
    token = (await office.sign_in(Role.VIEWER)).token
    took: list[float] = []
    async with asyncio.timeout(120), asyncio.TaskGroup() as tasks:
        ready = asyncio.Barrier(PAGES + 1)
        opened: dict[str, float] = {}

        async def one(box: str) -> None:
            watch = "&".join(f"watch={topic}:{box}" for topic in ("box", "pulse", "feed"))
            async with tab(served, token, watch) as page:
                await page.read_until("event: cabinet", "event: pulse", "event: feed")
                for _ in range(ROUNDS):
                    await ready.wait()
                    arrived = await page.read_until('edge-ajar" id="door-A1"')
                    took.append(arrived - opened[box])
                    await page.read_until('edge-closed" id="door-A1"')

        for number in range(PAGES):
            tasks.create_task(one(boxes[number % BOXES]))
        for _ in range(ROUNDS):
            await ready.wait()
            await asyncio.sleep(0.3)
            for box, journal in zip(boxes, journals, strict=True):
                opened[box] = time.perf_counter()
                await journal.tell(Happening.DOOR_OPENED, "A1")
            await asyncio.sleep(1)
            for journal in journals:
                await journal.tell(Happening.DOOR_CLOSED, "A1")
    took.sort()
    assert len(took) == PAGES * ROUNDS
    median, p95 = (took[int(len(took) * part)] for part in (0.5, 0.95))
    print(f"{PAGES} pages: median {median * 1000:.0f} ms, p95 {p95 * 1000:.0f} ms, most {took[-1] * 1000:.0f} ms")
    assert p95 < SECONDS


async def test_a_removal_goes_on_by_itself_on_the_phone(office: Office, shop: Shop, served: str) -> None:
    journal = Journal(shop.core, await add_device(shop))
    shipment = await shop.reserved("A", "loaded", "fault")
    code = (await place_of(shop.core, shipment))[1]
    token = (await office.sign_in(Role.OPERATOR)).token
    async with asyncio.timeout(20), tab(served, token, f"watch=removal:{shipment}") as phone:
        await phone.read_until('data-screen="open_it"')
        command = await open_for_removal(shop.core, operator(shop), shipment)
        await phone.read_until('data-screen="opening"')
        await journal.tell(Happening.DOOR_OPENED, code, command.id)
        await phone.read_until('data-screen="empty_it"')
        await journal.tell(Happening.DOOR_CLOSED, code, command.id)
        await phone.read_until('data-screen="confirm"')


async def test_nobody_hears_of_another_tenants_box(office: Office, other_shop: Shop, served: str) -> None:
    journal = Journal(other_shop.core, await add_device(other_shop))
    token = (await office.sign_in(Role.OWNER)).token
    async with tab(served, token, f"watch=box:{other_shop.box_id}") as page:
        await journal.tell(Happening.DOOR_OPENED, "A1")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await page.read_until("door-A1")
