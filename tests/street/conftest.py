"""The street: API, broker, gateway, worker, the program in the box and webhooks, all real."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from starlette.types import ASGIApp

from pickupbox.api.app import make_app
from pickupbox.box.clock import ticks
from pickupbox.box.settings import BoxSettings
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core, open_core
from tests.box.street import a_box
from tests.devices.broker import Broker, mosquitto
from tests.devices.street import add_device
from tests.street.corner import CODES, Corner
from tests.support.databases import environment_of, own_database
from tests.support.processes import Process
from tests.support.shop import Shop, open_shop
from tests.support.waiting import until
from tests.webhooks.receiving import Receiver, open_receiver, subscribe


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with mosquitto(tmp_path_factory.mktemp("street"), plain=True) as running:
        yield running


@pytest.fixture(scope="module")
def settings(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A database of its own, with a gateway and a worker as processes."""
    with own_database() as made:
        chosen = made.model_copy(update={"mqtt_url": broker.url, "webhook_loopback": True})
        folder = tmp_path_factory.mktemp("processes")
        kinds = ("gateway", "worker")
        processes = [Process([kind], environment_of(chosen), folder / f"{kind}.log") for kind in kinds]
        try:
            yield chosen
        finally:
            for process in processes:
                process.stop()


@pytest_asyncio.fixture(scope="module")
async def core(settings: Settings) -> AsyncIterator[Core]:
    core = open_core(settings)
    yield core
    await core.db.close()


@pytest.fixture(scope="module")
def app(core: Core) -> ASGIApp:
    return make_app(core, "memory://")


@pytest_asyncio.fixture
async def corner(core: Core, app: ASGIApp, broker: Broker, tmp_path: Path) -> AsyncIterator[Corner]:
    async with _a_shop(core, app) as (shop, receiver), _a_corner(shop, receiver, broker, tmp_path / "journal") as made:
        yield made


@pytest_asyncio.fixture
async def corners(core: Core, app: ASGIApp, broker: Broker, tmp_path: Path) -> AsyncIterator[list[Corner]]:
    """Three boxes of one shop."""
    async with _a_shop(core, app) as (shop, receiver), AsyncExitStack() as stack:
        journals = [tmp_path / f"journal-{number}" for number in range(3)]
        yield [await stack.enter_async_context(_a_corner(shop, receiver, broker, journal)) for journal in journals]


@asynccontextmanager
async def _a_shop(core: Core, app: ASGIApp) -> AsyncIterator[tuple[Shop, Receiver]]:
    shop = await open_shop(core, app, compartments=len(CODES))
    async with shop.http, open_receiver() as receiver:
        await subscribe(shop, receiver.url)
        yield shop, receiver


@asynccontextmanager
async def _a_corner(shop: Shop, receiver: Receiver, broker: Broker, journal: Path) -> AsyncIterator[Corner]:
    box = await shop.add_box(len(CODES), protection_seconds=2, cooldown_seconds=1)
    device = await add_device(shop, box)
    settings = BoxSettings(
        device=device,
        compartments=CODES,
        journal=journal,
        mqtt_port=broker.port,
        look_seconds=0.05,
        heartbeat_seconds=1.0,
    )
    async with a_box(settings) as running:

        async def known() -> bool:
            async with shop.core.db.connection() as connection:
                return await connection.fetchval("SELECT last_seen_at IS NOT NULL FROM devices WHERE id = $1", device)

        await until(known)
        await until(lambda: running.box._clock.latest(ticks()) is not None)  # a heartbeat's answer tells it
        yield Corner(replace(shop, box_id=box), device, running, receiver)
