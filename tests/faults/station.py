"""One box on the street: the real program on its doors, a keypad that one person uses at a time, and its power."""

import asyncio
import shutil
from contextlib import suppress
from dataclasses import replace

from pickupbox.box.cable import Cable
from pickupbox.box.program import NO_ANSWER, PIN_SECONDS, Box
from pickupbox.box.settings import BoxSettings
from pickupbox.domain.doors import Verdict
from tests.faults.doors import Doors
from tests.faults.way import Way, disturbed

END_SECONDS = 60


class Station:
    def __init__(self, box_id: str, settings: BoxSettings, way: Way, corrections: float) -> None:
        self.box_id = box_id
        self.corrections = corrections  # how many loaders open again
        self.device = settings.device
        self.doors = Doors(settings.compartments)
        self.keypad = asyncio.Lock()
        self.people = 0
        self.cuts = 0
        self._settings = settings
        self._way = way
        self._asks_for_compartment = False
        self._lit = asyncio.Event()
        self._ending: list[asyncio.Task[None]] = []
        self._typing: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.doors.powered = True
        self._shown: list[str] = []
        self._cable = Cable()
        self.box = Box(self._settings, self.doors, self._shown.append, self._cable)
        self._link = disturbed(self.box.link, self._way, self.device)
        self._running = asyncio.create_task(self.box.run())
        self._lit.set()

    def cut(self) -> None:
        """The power goes: from this instant nothing that the program does reaches doors, disk or network.

        The journal goes on from a copy of its files as they are now: the old program closes its own in order, which no
        power cut does.
        """
        self.cuts += 1
        self._lit.clear()
        self.doors.cut()
        self._link.dark = True
        del self._way.links[self.device]
        before = self._settings.journal
        self._settings = replace(self._settings, journal=before.with_name(f"{self.device}.{self.cuts}"))
        for suffix in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copy(f"{before}{suffix}", f"{self._settings.journal}{suffix}")
        self._cable.cut()  # no goodbye: the broker says the last will
        self._running.cancel()
        if self._typing is not None:
            self._typing.cancel()
        self._ending.append(asyncio.create_task(_ended(self._running)))

    async def stop(self) -> None:
        if self._lit.is_set():
            self._running.cancel()
            await _ended(self._running)
        await asyncio.gather(*self._ending)

    async def type(self, pin: str, compartment: str) -> str:
        """Type a PIN and look at display and door: until the door opens, or what the display says is all there is."""
        await self.keypad.acquire()
        try:
            await self._lit.wait()
            keys = f"*{f'{compartment}#' if self._asks_for_compartment else ''}{pin}"
            shown = self._shown
            shown.clear()
            self._typing = typing = asyncio.create_task(_press(self.box, keys))
        except BaseException:
            self.keypad.release()
            raise
        typing.add_done_callback(lambda _: self.keypad.release())
        looking = asyncio.create_task(self.doors.opened[compartment].wait())
        await asyncio.wait((typing, looking), return_when=asyncio.FIRST_COMPLETED)
        if not looking.done() and shown[-1:] == [Verdict.OPENING]:
            await asyncio.wait((looking,), timeout=PIN_SECONDS)
        looking.cancel()
        said = shown[-1] if shown else NO_ANSWER
        self._asks_for_compartment |= said == Verdict.COMPARTMENT_NEEDED
        return said


async def _press(box: Box, keys: str) -> None:
    for key in keys:
        await box.press(key)


async def _ended(running: asyncio.Task[None]) -> None:
    await asyncio.wait((running,), timeout=END_SECONDS)
    assert running.done(), "a box whose power was cut goes on"
    if not running.cancelled() and (error := running.exception()) is not None:
        raise error
