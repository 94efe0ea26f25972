"""Fixtures: a box's journal, a broker of our own, settings that lead to it, a gateway there and a box that it hears."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from pickupbox.devices.gateway import Gateway
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from tests.devices.broker import Broker, mosquitto
from tests.devices.street import Box, Journal, add_device, box_at, gateway
from tests.support.shop import Shop


@pytest.fixture(scope="session")
def shared_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with mosquitto(tmp_path_factory.mktemp("broker"), plain=True) as broker:
        yield broker


@pytest.fixture(scope="session")
def on_broker(settings: Settings, shared_broker: Broker) -> Settings:
    """The settings of the tests' database and of a broker that nobody kills."""
    return settings.model_copy(update={"mqtt_url": shared_broker.service_url})


@pytest_asyncio.fixture
async def journal(shop: Shop) -> Journal:
    return Journal(shop.core, await add_device(shop))


@pytest_asyncio.fixture
async def service(core: Core, on_broker: Settings) -> AsyncIterator[Gateway]:
    async with gateway(core, on_broker) as made:
        yield made


@pytest_asyncio.fixture
async def box(shop: Shop, on_broker: Settings, service: Gateway) -> AsyncIterator[Box]:
    """A box that the gateway hears."""
    async with box_at(on_broker, await add_device(shop)) as box:
        await box.beat()
        yield box
