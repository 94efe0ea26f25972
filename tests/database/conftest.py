"""A connection that is under no rule of ours, to try what the database itself refuses."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest_asyncio

from pickupbox.settings import Settings

type Raw = asyncpg.Connection[asyncpg.Record]


@pytest_asyncio.fixture
async def raw(settings: Settings) -> AsyncIterator[Any]:
    """A transaction of its own, taken back at the end."""
    connection = await asyncpg.connect(settings.database_url)
    transaction = connection.transaction()
    await transaction.start()
    yield connection
    await transaction.rollback()
    await connection.close()
