"""A real API and a real worker on a database of their own, a shop in it, and a desk."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from tests.listen.desk import Desk, Server, serving
from tests.support.databases import environment_of
from tests.support.processes import Process, api_process
from tests.support.shop import Shop


@pytest.fixture(scope="package")
def base_url(settings: Settings, core: Core, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The API, with a worker that ends protection periods."""
    logs = tmp_path_factory.mktemp("processes")
    few = settings.model_copy(update={"database_pool": 4})
    worker = Process(["worker"], environment_of(few), logs / "worker")
    try:
        with api_process(few, logs / "api") as address:
            yield address
    finally:
        worker.stop()


@pytest_asyncio.fixture
async def desk(base_url: str, shop: Shop, tmp_path: Path) -> AsyncIterator[Desk]:
    desk = Desk(base_url, shop.api_key, tmp_path)
    yield desk
    desk.close()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server
