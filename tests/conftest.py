"""Fixtures: one database, one core and one API per test process; a new tenant per test."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from starlette.types import ASGIApp

from pickupbox.api.app import make_app
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core, open_core
from tests.support.databases import own_database
from tests.support.shop import Shop, open_shop


@pytest.fixture(scope="session")
def settings() -> Iterator[Settings]:
    with own_database() as made:
        yield made


@pytest_asyncio.fixture(scope="session")
async def core(settings: Settings) -> AsyncIterator[Core]:
    core = open_core(settings)
    yield core
    await core.db.close()


@pytest.fixture(scope="session")
def app(core: Core) -> ASGIApp:
    return make_app(core, "memory://")


@pytest_asyncio.fixture
async def shop(core: Core, app: ASGIApp) -> AsyncIterator[Shop]:
    shop = await open_shop(core, app)
    async with shop.http:
        yield shop


@pytest_asyncio.fixture
async def other_shop(core: Core, app: ASGIApp) -> AsyncIterator[Shop]:
    shop = await open_shop(core, app)
    async with shop.http:
        yield shop
