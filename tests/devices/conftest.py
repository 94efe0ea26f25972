"""Fixtures: a box's journal, a broker of our own, and settings that lead to it."""

from collections.abc import Iterator

import pytest
import pytest_asyncio

from pickupbox.settings import Settings
from tests.devices.broker import Broker, mosquitto
from tests.devices.street import Journal, add_device
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
