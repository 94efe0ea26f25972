"""Other places to serve from than the shared one: a database that is away, one that was changed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import ASGIApp

from pickupbox.api.app import make_app
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core, open_core

# Nothing listens on port 1.
_AWAY = "postgresql://127.0.0.1:1/nowhere"


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[tuple[Core, ASGIApp]]:
    core = open_core(settings)
    yield core, make_app(core, "memory://")
    await core.db.close()


@asynccontextmanager
async def away(settings: Settings) -> AsyncIterator[ASGIApp]:
    """An API whose database does not answer."""
    async with served(settings.model_copy(update={"database_url": _AWAY})) as (_, app):
        yield app
