"""Messages that could not be read: gathered, and kept in batches with the reason."""

import asyncio
import re

from pickupbox.database import aside
from pickupbox.database.aside import Unread
from pickupbox.devices.wire import MESSAGE_BYTES
from pickupbox.telemetry import SET_ASIDE, log
from pickupbox.usecases.core import Core

KEEP_SECONDS = 1.0
UNREAD = 1000  # kept in one round; more are only counted


def unread_of(topic: str, payload: bytes, reason: str) -> Unread:
    """The form of a message without its digits: they may be a PIN's, whatever name it came under."""
    return Unread(topic, re.sub(rb"[0-9]", b"#", payload[:MESSAGE_BYTES]), reason)


class Aside:
    def __init__(self, core: Core) -> None:
        self._core = core
        self.waiting: list[Unread] = []

    def put(self, topic: str, payload: bytes, reason: str) -> None:
        SET_ASIDE.inc()
        # A box that says nothing but nonsense must not fill log and database, nor hold up the others.
        if len(self.waiting) < UNREAD:
            self.waiting.append(unread_of(topic, payload, reason))
            log.warning("message_set_aside", topic=topic[:200], reason=reason[:200])

    async def keep(self) -> None:
        await asyncio.sleep(KEEP_SECONDS)
        unread, self.waiting = self.waiting, []
        if unread:
            async with self._core.db.connection() as connection:
                await aside.insert(connection, unread)
