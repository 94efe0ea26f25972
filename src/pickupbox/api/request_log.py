"""What was asked, for people to look up: gathered in memory after each answer, and written in batches once a second.

A request waits for none of it. What does not fit, or finds PostgreSQL away, is dropped and counted.
"""

import asyncio

from pickupbox.database import requests
from pickupbox.database.requests import Request
from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.telemetry import LOG_DROPPED, log
from pickupbox.usecases.core import Core

WRITTEN_EVERY = 1.0
GATHERED = 20_000  # requests at most, between two writings


class RequestLog:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._gathered: list[Request] = []

    def add(self, request: Request) -> None:
        if len(self._gathered) < GATHERED:
            self._gathered.append(request)
        else:
            LOG_DROPPED.labels("full").inc()

    async def write(self) -> None:
        """Write what was gathered since the last time, in one statement."""
        gathered, self._gathered = self._gathered, []
        if not gathered:
            return
        try:
            async with self._core.db.connection() as connection:
                await requests.insert(connection, gathered)
        except TemporarilyUnavailable:
            LOG_DROPPED.labels("away").inc(len(gathered))
        except Exception as error:  # noqa: BLE001 - one bad batch must not end the log; it is counted and logged
            LOG_DROPPED.labels("error").inc(len(gathered))
            log.error("request_log_failed", count=len(gathered), exc_info=error)

    async def write_forever(self) -> None:
        while True:
            await asyncio.sleep(WRITTEN_EVERY)
            await self.write()
