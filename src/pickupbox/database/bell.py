"""The bell that wakes who delivers: rung after a commit, and however often it is rung, heard some times a second.

Not inside the transaction: PostgreSQL lets only one transaction with a NOTIFY commit at a time.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from pickupbox.domain.errors import TemporarilyUnavailable

PAUSE = 0.02
CLOSE_SECONDS = 1.0


class Bell:
    def __init__(self, notify: Callable[[], Awaitable[None]]) -> None:
        self._notify = notify
        self._rung = False
        self._ringing: asyncio.Task[None] | None = None

    def ring(self) -> None:
        self._rung = True
        if self._ringing is None:
            self._ringing = asyncio.create_task(self._ring())

    async def _ring(self) -> None:
        try:
            while self._rung:
                self._rung = False
                with suppress(TemporarilyUnavailable):
                    await self._notify()
                await asyncio.sleep(PAUSE)
        finally:
            self._ringing = None

    async def close(self) -> None:
        """What was rung is heard first: a command line closes right after its act."""
        if self._ringing is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ringing, CLOSE_SECONDS)
