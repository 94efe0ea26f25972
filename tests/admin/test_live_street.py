"""The whole way of what is live: the program in the box, broker, gateway, PostgreSQL, administration, open pages.

CI has few pages, and a limit for a machine that is busy with other tests; `just live` has the 200 pages and the half
second of the promise. Of that the box itself takes 0.2 to 0.3 s: so long a sensor must say the same before it counts.
"""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pickupbox.admin.live import MOST_OF_ONE
from pickupbox.database import devices
from pickupbox.domain.roles import Role
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from tests.admin.office import Office
from tests.admin.tabs import an_administration, measure
from tests.devices.broker import mosquitto
from tests.devices.street import add_device
from tests.support.databases import environment_of
from tests.support.processes import Process as Service
from tests.support.shop import Shop

PAGES = int(os.environ.get("PICKUPBOX_LIVE_PAGES", "20"))
BOXES = int(os.environ.get("PICKUPBOX_LIVE_BOXES", "2"))
SECONDS = float(os.environ.get("PICKUPBOX_LIVE_SECONDS", "1"))
HEARD_SECONDS = 60
HANDS = {"open": "force", "close": "close"}  # what a hand does at a virtual door


@pytest.fixture(scope="module")
def street(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The addresses of a broker with a gateway behind it, and of an administration."""
    folder = tmp_path_factory.mktemp("street")
    with mosquitto(folder, plain=True) as broker, an_administration(settings, folder) as served:
        chosen = settings.model_copy(update={"mqtt_url": broker.url})
        gateway = Service(["gateway"], environment_of(chosen), folder / "gateway.log")
        try:
            yield broker.url, served
        finally:
            gateway.stop()


@asynccontextmanager
async def a_box(device: str, mqtt_url: str, journal: Path) -> AsyncIterator[Process]:
    """The program in the box, as a process of its own."""
    variables = {"DEVICE": device, "COMPARTMENTS": "A1,A2", "JOURNAL": str(journal), "MQTT_URL": mqtt_url}
    environment = os.environ | {f"PICKUPBOX_BOX_{name}": value for name, value in variables.items()}
    command = [sys.executable, "-m", "tests.box.child"]
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stderr=DEVNULL, env=environment)
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


async def until_heard(core: Core, known: Mapping[str, str], since: datetime) -> None:
    async with asyncio.timeout(HEARD_SECONDS):
        while True:
            async with core.db.connection() as connection:
                if await devices.all_seen(connection, list(known.values()), since):
                    return
            await asyncio.sleep(0.1)


@pytest.mark.slow
async def test_a_door_that_opens_at_the_box_is_soon_open_on_every_page(
    office: Office, shop: Shop, street: tuple[str, str], tmp_path: Path
) -> None:
    mqtt_url, served = street
    known = {box: await add_device(shop, box) for box in [await shop.add_box(2) for _ in range(BOXES)]}
    people = [await office.sign_in(Role.VIEWER) for _ in range(-(-PAGES // MOST_OF_ONE))]
    began = datetime.now(UTC)
    async with AsyncExitStack() as stack:
        running = {
            box: await stack.enter_async_context(a_box(device, mqtt_url, tmp_path / device))
            for box, device in known.items()
        }
        await until_heard(shop.core, known, began)

        async def move(box: str, way: str) -> None:
            hands = running[box].stdin
            assert hands is not None
            hands.write(f"{HANDS[way]} A1\n".encode())
            await hands.drain()

        p95 = await measure(served, [person.token for person in people], list(known), PAGES, move)
    assert p95 < SECONDS
