"""Waiting for something that the worker does."""

import asyncio
from collections.abc import Awaitable, Callable


async def until(happened: Callable[[], Awaitable[bool]], seconds: float) -> None:
    """Return as soon as it has happened; fail if it has not in that time."""
    async with asyncio.timeout(seconds):
        while not await happened():  # noqa: ASYNC110 - it happens in PostgreSQL, which tells nobody
            await asyncio.sleep(0.02)
