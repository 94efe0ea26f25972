"""Fixtures: the administration's app, and an office whose people visit it."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from starlette.types import ASGIApp

from pickupbox.admin.app import make_app
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from tests.admin.office import Office
from tests.support.shop import Shop


@pytest.fixture(scope="session")
def pages(core: Core, settings: Settings) -> ASGIApp:
    return make_app(core, settings)


@pytest_asyncio.fixture
async def office(core: Core, pages: ASGIApp, shop: Shop) -> AsyncIterator[Office]:
    office = Office(core, pages, shop)
    yield office
    for person in office.people:
        await person.http.aclose()
