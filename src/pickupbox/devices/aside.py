"""Messages that could not be read: a few of each box are kept with the reason, the rest is only counted."""

import asyncio
import re
import time

from pickupbox.database import aside, devices
from pickupbox.database.aside import Unread
from pickupbox.devices.fairness import Allowance
from pickupbox.telemetry import log
from pickupbox.usecases.core import Core

KEEP_SECONDS = 1.0
KEPT_OF_ONE = 10  # in a minute
WAITING = 1000
EXCERPT_BYTES = 1024  # enough to see what it was meant to be


class Aside:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._allowance = Allowance(KEPT_OF_ONE)
        self.waiting: list[tuple[str, Unread]] = []

    def unread(self, device: str, topic: str, payload: bytes, reason: str) -> Unread:
        """The form of a message without its digits: they may be a PIN's, whatever name it came under.

        A box that says nothing but nonsense must not fill log and database: of most of it nothing is kept.
        """
        excerpt = re.sub(rb"[0-9]", b"#", payload[:EXCERPT_BYTES])
        return Unread(topic, excerpt, reason, kept=self._allowance.take(device, time.monotonic()))

    def put(self, device: str, unread: Unread) -> None:
        if unread.kept and len(self.waiting) < WAITING:
            self.waiting.append((device, unread))

    async def keep(self) -> None:
        await asyncio.sleep(KEEP_SECONDS)
        waiting, self.waiting = self.waiting, []
        if not waiting:
            return
        async with self._core.db.connection() as connection:
            living = await devices.living(connection, {device for device, _ in waiting})
            unread = [one for device, one in waiting if device in living]
            await aside.insert(connection, unread)
        for one in unread:
            tell(one)


def tell(unread: Unread) -> None:
    if unread.kept:
        log.warning("message_set_aside", topic=unread.topic[:200], reason=unread.reason[:200])
