"""A database of its own for webhooks: what waits there is nobody else's. Webhooks may go to this machine."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from starlette.types import ASGIApp

from pickupbox.api.app import make_app
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core, open_core
from tests.support.databases import own_database
from tests.webhooks.receiving import Receiver, open_receiver


@pytest.fixture(scope="package")
def settings() -> Iterator[Settings]:
    with own_database() as made:
        yield made.model_copy(update={"webhook_loopback": True})


@pytest_asyncio.fixture(scope="package")
async def core(settings: Settings) -> AsyncIterator[Core]:
    core = open_core(settings)
    yield core
    await core.db.close()


@pytest.fixture(scope="package")
def app(core: Core) -> ASGIApp:
    return make_app(core, "memory://")


@pytest.fixture
async def nothing_waits(core: Core) -> None:
    """What other tests left behind is not delivered."""
    async with core.db.connection() as connection:
        await connection.execute("DELETE FROM webhook_lanes")
        await connection.execute("DELETE FROM webhook_failures")


@pytest_asyncio.fixture
async def receiver(nothing_waits: None) -> AsyncIterator[Receiver]:
    async with open_receiver() as opened:
        yield opened


@pytest_asyncio.fixture
async def other_receiver(nothing_waits: None) -> AsyncIterator[Receiver]:
    async with open_receiver() as opened:
        yield opened
