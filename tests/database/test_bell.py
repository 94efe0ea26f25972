"""The bell: who acts once and leaves is heard all the same."""

import asyncio

from pickupbox.settings import Settings
from pickupbox.usecases.core import Core, open_core
from tests.support.waiting import until


async def test_what_was_rung_right_before_closing_is_heard(core: Core, settings: Settings) -> None:
    rings, stop = [], asyncio.Event()
    listening = asyncio.create_task(core.db.listen(lambda: rings.append(1), stop))
    await until(lambda: rings, 5)
    rings.clear()
    leaving = open_core(settings)
    leaving.db.ring()
    await leaving.db.close()
    await until(lambda: rings, 5)
    stop.set()
    await listening
