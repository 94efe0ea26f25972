"""The cabinet: all doors of the box, their driver, and the journal that hears of every change first.

A step of a door is written down before it counts and before a lock is released. If it cannot be written, nothing moves.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Iterable

from pickupbox.box import doors
from pickupbox.box.clock import ticks
from pickupbox.box.doors import Door, DoorState, Happened, Step
from pickupbox.box.drivers import Driver, DriverError
from pickupbox.box.journal import Journal, JournalError

log = logging.getLogger(__name__)

KEPT = "doors"
FIRST_READING_SECONDS = 10.0


class Cabinet:
    def __init__(
        self,
        compartments: Iterable[str],
        driver: Driver,
        journal: Journal,
        changed: Callable[[list[Happened]], None],
    ) -> None:
        self._driver = driver
        self._journal = journal
        self._changed = changed
        self.doors = _remembered(compartments, journal.kept(KEPT))
        self._lasting = _lasting(self.doors)
        self._unseen = set(self.doors)  # not read since the start
        self._started = ticks()
        self._to_release: list[str] = []
        self._hurry = asyncio.Event()
        self._silent = False  # no board answered at the last look
        self._still = False  # the last look could not be written down

    @property
    def open_doors(self) -> list[str]:
        return [code for code, door in self.doors.items() if door.state is DoorState.OPEN]

    def open(self, compartment: str, command: str) -> None:
        """Take a command for a known compartment; raises JournalError if it cannot be written down."""
        door = self.doors[compartment]
        if compartment in self._unseen:
            step = doors.refused(door, command, "door_unreadable")
        else:
            step = doors.commanded(door, command, ticks())
        self._take([step], command)
        self._hurry.set()

    async def run(self, look_seconds: float) -> None:
        """Look at the doors for ever; a command does not wait for the next look."""
        while True:
            await self.look()
            try:
                async with asyncio.timeout(look_seconds):
                    await self._hurry.wait()
            except TimeoutError:
                pass
            self._hurry.clear()

    async def look(self) -> None:
        await self._release()
        readings = await self._read()
        now = ticks()
        patient = now - self._started < FIRST_READING_SECONDS
        try:
            self._take(
                [
                    self._step(door, is_open, now, patient)
                    for code, door in self.doors.items()
                    if not doors.rests(door, is_open := readings.get(code)) or code in self._unseen
                ]
            )
        except JournalError as error:
            if not self._still:
                log.error("doors stand still: %s", error)  # noqa: TRY400 - the reason is enough
            self._still = True
            return
        self._still = False
        self._unseen = {code for code in self._unseen if code not in readings and patient}

    def _step(self, door: Door, is_open: bool | None, now: float, patient: bool) -> Step:  # noqa: FBT001
        if door.compartment not in self._unseen:
            return doors.looked(door, is_open, now)
        # A board may start later than we do: that it is silent says nothing about its doors yet.
        return Step(door) if is_open is None and patient else doors.restarted(door, is_open)

    async def _read(self) -> dict[str, bool]:
        try:
            readings = await self._driver.read()
        except DriverError as error:
            if not self._silent:
                log.warning("the doors cannot be read: %s", error)
            self._silent = True
            return {}
        self._silent = False
        return readings

    async def _release(self) -> None:
        codes, self._to_release = self._to_release, []
        for code in codes:
            if ticks() >= self.doors[code].try_ends:
                continue  # the board stood still meanwhile: the next look says what follows
            try:
                await self._driver.unlock(code)
                self._take([doors.released(self.doors[code])])
            except (DriverError, JournalError) as error:
                log.warning("compartment %s: %s", code, error)

    def _take(self, steps: list[Step], command: str | None = None) -> None:
        """Write the steps down, then let them count."""
        moved = {
            step.door.compartment: step.door for step in steps if step.door is not self.doors[step.door.compartment]
        }
        happened = [one for step in steps for one in step.happened]
        after = {**self.doors, **moved} if moved else self.doors
        lasting = _lasting(after) if moved else self._lasting
        if happened or command is not None or lasting != self._lasting:
            self._journal.write(happened, {KEPT: lasting}, command)
        self.doors, self._lasting = after, lasting
        self._to_release += [step.door.compartment for step in steps if step.release]
        if happened:
            self._changed(happened)


def _lasting(all_doors: dict[str, Door]) -> str:
    """What of the doors survives a restart: those that are not closed, and for which command."""
    return json.dumps(
        {code: [door.state, door.command] for code, door in all_doors.items() if door.state is not DoorState.CLOSED}
    )


def _remembered(compartments: Iterable[str], kept: str | None) -> dict[str, Door]:
    """The doors as they were written down; one that is no longer in the settings is left out."""
    lasting = json.loads(kept or "{}")
    return {
        code: Door(code, DoorState(lasting[code][0]), lasting[code][1]) if code in lasting else Door(code)
        for code in compartments
    }
