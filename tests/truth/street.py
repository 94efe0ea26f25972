"""The street: the real program in the box, the real gateway and the real service, joined by a wire that is not."""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from pickupbox.box import alone as roster
from pickupbox.box import cabinet
from pickupbox.box.doors import DoorState, Happened
from pickupbox.box.drivers.virtual import VirtualDriver
from pickupbox.box.program import Box
from pickupbox.box.roster import from_text
from pickupbox.box.settings import BoxSettings
from pickupbox.devices.gateway import Gateway
from pickupbox.devices.messages import Direction, Message
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from tests.truth.clock import HandDatabase, HandLoop, now
from tests.truth.truth import Truth
from tests.truth.wire import BoxSession, GatewaySession, Wire

CODES = ("A1", "A2")
LOOK_SECONDS = 0.3
HEARTBEAT_SECONDS = 15
SEEN_SECONDS = 0.7  # after that a box that is awake has seen how its doors stand
CALM, STALLED = 0.55, 0.7  # below: everything arrives in order; below: nothing does; else some of it, somehow
TWICE = 0.1  # so many come once more, later, though everything else is calm
DRAIN_ROUNDS = 200
EMPTY: Mapping[str, str] = {}
OWNER: ContextVar[object] = ContextVar("OWNER", default=None)


class GoneError(Exception):
    """The power is gone: whatever was under way goes no further."""


class Doors(VirtualDriver):
    """The virtual driver; the truth is told of each release, and the power may go just before or after it."""

    street: "Street"

    async def unlock(self, compartment: str) -> None:
        self.street.box_reaches_a_point()
        self.street.lock_is_released(compartment)
        await super().unlock(compartment)
        self.street.box_reaches_a_point()


class Street:
    def __init__(self, core: Core, settings: Settings, loop: HandLoop, folder: Path, chance: Random) -> None:
        assert isinstance(core.db, HandDatabase)
        self.core, self.db, self.loop, self.chance = core, core.db, loop, chance
        self._settings = settings
        self._journal = folder / f"{chance.getrandbits(64):x}.journal"
        self.doors = Doors(CODES)
        self.doors.street = self
        self.truth = Truth(self.doors, CODES)
        self.wire = Wire(self._hear, self._hear_arrive)
        self.box: Box | None = None
        self.gateway: Gateway | None = None
        self.breach: Exception | None = None  # what the truth says against a lock that was released
        self.skew = timedelta()
        self.switched_on = 0.0
        self.box_points: int | None = None  # so many points until the power goes
        self.gateway_points: int | None = None
        self._device = ""
        self._doors_on_disk: dict[str, tuple[str, str | None]] = {}  # those that are not closed
        self.roster_on_disk = 0  # the version that the box holds, or will when it is switched on again
        self._tasks: list[asyncio.Task[None]] = []
        self._unsynced: list[tuple[Any, ...]] = []  # journal entries whose dropping the disk may not have yet

    def _hear(self, device: str, message: Message) -> None:
        if device == self._device:
            self.truth.hear(message)
            self.truth.onlooker.sees(message, self.at)

    def _hear_arrive(self, device: str, message: Message) -> None:
        if device == self._device:
            self.truth.onlooker.sees_arrive(message, self.at)

    @property
    def at(self) -> float:
        return now(self.loop).timestamp()

    def lock_is_released(self, code: str) -> None:
        assert self.box is not None
        with self._noting_a_breach():
            self.truth.release(self.box.cabinet.doors[code], self.loop.moment, now(self.loop))

    @contextmanager
    def _noting_a_breach(self) -> Iterator[None]:
        """The box outlives what goes wrong inside it; the model must hear of it all the same."""
        try:
            yield
        except (AssertionError, KeyError) as error:
            self.breach = error
            raise

    # The box.

    def switch_on(self, device: str) -> None:
        self.switched_on, self.box_points, self._device = self.loop.moment, None, device
        self.truth.onlooker.box_is_switched_on()
        settings = BoxSettings(
            device=device,
            compartments=CODES,
            journal=self._journal,
            look_seconds=LOOK_SECONDS,
            heartbeat_seconds=HEARTBEAT_SECONDS,
        )
        self.box = Box(settings, self.doors, lambda _: None)
        self._watch(self.box)
        link: Any = self.box.link
        link._client = lambda: BoxSession(self.wire)
        self._start(self.box, self.box.run())

    def _watch(self, box: Box) -> None:
        """A power cut may come before and after every write; what was dropped is on the disk with the next write."""
        journal: Any = box.journal
        write, drop = journal.write, journal.drop

        def watched_write(
            happened: Sequence[Happened], keep: Mapping[str, str] = EMPTY, command: str | None = None
        ) -> None:
            self.box_reaches_a_point()
            write(happened, keep, command)
            if roster.KEPT in keep:
                self.roster_on_disk = from_text(keep[roster.KEPT]).version
            if cabinet.KEPT in keep:
                self._doors_on_disk = json.loads(keep[cabinet.KEPT])
            self.truth.written += happened
            self.truth.onlooker.reads(happened)
            self._unsynced.clear()
            self.box_reaches_a_point()

        def watched_drop(seq: int) -> None:
            dropped = journal._db.execute("SELECT * FROM entries WHERE seq <= ?", (seq,)).fetchall()
            drop(seq)
            self._unsynced += dropped

        alone: Any = box.alone
        judge = alone.judge

        def watched_judge(pin: str, compartment: str | None) -> tuple[str, str] | None:
            self.box_reaches_a_point()
            judged: tuple[str, str] | None = judge(pin, compartment)
            with self._noting_a_breach():
                self.truth.box_judges(pin, judged, box.alone.version, self.at)
            return judged

        journal.write, journal.drop = watched_write, watched_drop
        alone.judge = watched_judge

    def box_reaches_a_point(self) -> None:
        if self.box_points is not None:
            self.box_points = max(self.box_points - 1, 0)
            if self.box_points == 0:
                raise GoneError

    def power_goes_after(self, points: int) -> None:
        if self.box_points != 0:  # it is not gone yet
            self.box_points = points

    async def power_goes(self) -> None:
        """What was in memory is gone; the doors stay as they are, the journal as the disk has it."""
        if self.box is None:
            return
        self.box_points = 0
        self.wire.box = None
        await self._end(self.box)
        self.box.journal.close()
        self.box = None
        for code, (state, command) in self._doors_on_disk.items():
            if state == DoorState.RELEASING and command is not None and self.doors.is_open(code):
                self.truth.take_for_its_own(code, command, now(self.loop))
        self.truth.onlooker.box_is_switched_on()
        if self._unsynced and self.chance.random() < 0.5:
            with sqlite3.connect(self._journal) as disk:
                disk.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", self._unsynced)
            disk.close()
        self._unsynced.clear()

    def type(self, box: Box, pin: str) -> None:
        """Somebody types; it goes on by itself."""

        async def keys() -> None:
            for key in f"*{pin}":
                await box.press(key)

        self._start(box, keys())

    @property
    def box_is_awake(self) -> bool:
        """It has power, and has looked at its doors."""
        return self.box is not None and self.box_points != 0 and not self.box.cabinet._unseen

    def is_releasing(self, code: str) -> bool:
        """Also while it has no power: it will take whatever it finds for its own opening."""
        in_memory = self.box is not None and self.box.cabinet.doors[code].state is DoorState.RELEASING
        return in_memory or self._doors_on_disk.get(code, (None,))[0] == DoorState.RELEASING

    def settled_doors(self) -> dict[str, bool]:
        """Whether it takes them to be open, of the doors that it neither moves nor is making up its mind about."""
        if self.box is None or not self.box_is_awake:
            return {}
        doors = self.box.cabinet.doors.values()
        at_rest = [door for door in doors if door.contrary_since is None and door.state is not DoorState.RELEASING]
        return {door.compartment: door.state is DoorState.OPEN for door in at_rest}

    # The gateway.

    def start_gateway(self) -> None:
        self.gateway, self.gateway_points = Gateway(self.core), None
        self._start(self.gateway, self.gateway.run(self._settings, asyncio.Event()))

    def connect(self, _: Settings, __: str, hear: Callable[[str, bytes], None]) -> GatewaySession:
        """What the gateway gets for a way to the broker."""
        return GatewaySession(self.wire, hear, self._gateway_reaches_a_point)

    async def _gateway_reaches_a_point(self) -> None:
        if self.gateway_points is not None:
            self.gateway_points -= 1
            if self.gateway_points <= 0:
                await asyncio.Event().wait()  # until it is buried

    async def kill_gateway(self) -> None:
        """Its memory is gone, and what the broker had for it as well: nobody else subscribes."""
        if self.gateway is None:
            return
        self.gateway_points = 0
        self.wire.gateway = None
        await self._end(self.gateway)
        self.gateway = None
        under_way = self.wire.under_way[Direction.UP]
        under_way[:] = [sent for sent in under_way if self.chance.random() < 0.5]

    # Both.

    def _start(self, owner: object, work: Coroutine[Any, Any, None]) -> None:
        context = copy_context()
        context.run(OWNER.set, owner)
        self._tasks.append(self.loop.create_task(work, context=context))  # the loop itself forgets them

    async def _end(self, owner: object) -> None:
        tasks = {*asyncio.all_tasks(), *self._tasks}
        ended = [task for task in tasks if task.get_context().get(OWNER) is owner]
        for task in ended:
            task.cancel()
        await asyncio.gather(*ended, return_exceptions=True)
        self._tasks = [task for task in self._tasks if not task.done()]

    async def _bury(self) -> None:
        """Whoever reached its last point is gone."""
        if self.box_points == 0:
            await self.power_goes()
        if self.gateway_points is not None and self.gateway_points <= 0:
            await self.kill_gateway()
        if self.breach is not None:
            raise self.breach

    async def carry(self, mood: float) -> None:
        """Let what is under way arrive, or not, and the box see how its doors stand."""
        await self.db.settle()
        if self.chance.random() < 0.4:
            self.wire.echo()
        if mood < CALM:
            await self._carry_all()
        elif mood >= STALLED:
            await self._carry_some(self.chance.randrange(1, 8))
        await self.db.move(SEEN_SECONDS)
        if mood < CALM:
            await self._carry_all()
            await self.db.move(SEEN_SECONDS)
        await self._bury()

    async def _carry_all(self) -> None:
        for _ in range(100):
            ways = [way for way in Direction if self.wire.can_deliver(way)]
            if not ways:
                return
            for way in ways:
                while self.wire.can_deliver(way):
                    self.wire.deliver(way, again=self.chance.random() < TWICE)
            await self.db.settle()
        raise AssertionError("box and gateway answer each other for ever")

    async def _carry_some(self, count: int) -> None:
        for _ in range(count):
            ways = [way for way in Direction if self.wire.can_deliver(way)]
            if not ways:
                return
            way, luck = self.chance.choice(ways), self.chance.random()
            place = self.chance.randrange(min(len(self.wire.under_way[way]), 6))
            if luck < 0.1:
                self.wire.lose(way, place)
            else:
                self.wire.deliver(way, place, again=luck < 0.3)
            if self.chance.random() < 0.7:
                await self.db.settle()
        await self.db.settle()

    async def drain(self, device: str) -> None:
        """Heal everything, and wait until the service has heard all that the box has to say."""
        self.wire.whole = True
        self.doors.jammed.clear()
        await self._bury()
        if self.gateway is None:
            self.start_gateway()
        if self.box is None:
            self.switch_on(device)
        self.box_points = self.gateway_points = None
        for _ in range(DRAIN_ROUNDS):
            await self.carry(0)
            assert self.box is not None
            rests = len(self.settled_doors()) == len(CODES)
            if rests and not self.box.journal.waiting and not any(self.wire.under_way.values()):
                return
            await self.db.move(2)
        waits = [len(under_way) for under_way in self.wire.under_way.values()]
        raise AssertionError(f"the service never hears the end of the journal: {waits} under way")

    async def close(self) -> None:
        await self.power_goes()
        await self.kill_gateway()

    def clear_away(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self._journal}{suffix}").unlink(missing_ok=True)
