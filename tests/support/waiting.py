"""Waiting for something that happens elsewhere: in PostgreSQL, on the broker, in another process."""

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any

SECONDS = 40.0


async def until(holds: Callable[[], Any | Awaitable[Any]], seconds: float = SECONDS) -> None:
    """Return as soon as it holds; a test that waits in vain fails here."""
    async with asyncio.timeout(seconds):
        while not (await answer if isawaitable(answer := holds()) else answer):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.02)
