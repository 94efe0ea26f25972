"""A database of its own for the worker: what it sweeps is nobody else's."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest
import pytest_asyncio
from starlette.types import ASGIApp

from pickupbox.api.app import make_app
from pickupbox.domain.lifecycle import Trigger
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core, open_core
from pickupbox.usecases.steps import lock, prepare, record
from tests.support.databases import own_database
from tests.support.shop import Shop

type Take = Callable[..., Awaitable[None]]


@pytest.fixture(scope="package")
def settings() -> Iterator[Settings]:
    with own_database() as made:
        yield made


@pytest_asyncio.fixture(scope="package")
async def core(settings: Settings) -> AsyncIterator[Core]:
    core = open_core(settings)
    yield core
    await core.db.close()


@pytest.fixture(scope="package")
def app(core: Core) -> ASGIApp:
    return make_app(core, "memory://")


@pytest.fixture
def take(shop: Shop) -> Take:
    """Take steps with a shipment as the street does, doors included; nothing about them is simulated."""

    async def take(shipment_id: str, *triggers: Trigger) -> None:
        for trigger in triggers:
            async with shop.core.db.transaction() as tx:
                await record(tx, prepare(shop.core, await lock(tx, shop.tenant, shipment_id), trigger))

    return take


@pytest.fixture
async def nothing_else_due(core: Core) -> None:
    """What other tests left behind comes due another day."""
    async with core.db.connection() as connection:
        await connection.execute("UPDATE shipments SET due_at = now() + interval '3 days' WHERE due_at IS NOT NULL")
