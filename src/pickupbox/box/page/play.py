"""A virtual box in a person's hands: doors and parcels to move, keys to press, and faults to switch on.

The box program is the real one, and so is the wire. What a person does here is what hands do on the street: the program
hears of it by its sensors and its keypad. A power cut ends the program; the next one starts from the journal, and finds
the doors as they stand.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

from pickupbox.box.cable import Cable
from pickupbox.box.clock import ticks
from pickupbox.box.doors import DoorState
from pickupbox.box.drivers.virtual import VirtualDriver
from pickupbox.box.page import words
from pickupbox.box.page.words import Said
from pickupbox.box.program import Box
from pickupbox.box.settings import BoxSettings
from pickupbox.devices.messages import Ack, Direction, Heartbeat, Message, Open, PinAnswer
from pickupbox.domain.cabinet import places

LINES = 200
KEYS_AT_ONCE = 16
STOP_SECONDS = 5.0


class ProductionError(Exception):
    """The service is not a sandbox; the program stops."""


class ActRefusedError(Exception):
    """What cannot be done now; the text says why."""


class Play:
    def __init__(self, settings: BoxSettings) -> None:
        self._settings = settings
        self._places = places(settings.compartments)
        self.driver = VirtualDriver(settings.compartments)
        self._cable = Cable(self._passes)
        self._cut = False
        self._box: Box | None = None
        self._running: asyncio.Task[None] | None = None
        self._pressing: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()  # power goes on or off, one at a time
        self._over: asyncio.Future[None] | None = None
        self._environment: str | None = None
        self._loses = False
        self._beat = ""
        self._said = Said()
        self._answered: str | None = None  # the compartment of the last answer to a PIN
        self._lines: deque[dict[str, Any]] = deque(maxlen=LINES)
        self._counted = 0
        self._rings: dict[str, int] = {}  # for how long each protected parcel was protected when we first heard of it
        self._acts: dict[str, Callable[..., None]] = {
            "press": self._press,
            "close": self._close,
            "put": self._put,
            "take": self._take,
            "jam": self._jam,
            "stick": self._stick,
            "cable": self._switch_cable,
            "lose": self._lose,
        }

    async def run(self) -> None:
        """Until `stop`; raises ProductionError as soon as the service says that it is no sandbox."""
        self._over = asyncio.get_running_loop().create_future()
        try:
            await self._switch_power(on=True)
            await self._over
        finally:
            await self._leave()

    def stop(self) -> None:
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        if self._over is None or self._over.done():
            return
        if error is None:
            self._over.set_result(None)
        else:
            self._over.set_exception(error)

    async def _leave(self) -> None:
        """With a goodbye, if there is someone to hear it."""
        async with self._turn:
            if self._box is not None and self._running is not None:
                self._box.stop()
                await asyncio.wait([self._running], timeout=STOP_SECONDS)
            await self._darken()

    # What passes on the cable

    def _passes(self, message: Message) -> bool:
        arrives = message.direction is Direction.UP or self._arrives(message)
        self._counted += 1
        self._lines.append(
            {
                "number": self._counted,
                "at": round(time.time() * 1000),
                "way": message.direction,
                "kind": message.kind,
                "text": words.line(message),
                "lost": not arrives,
            }
        )
        if isinstance(message, Heartbeat):
            self._beat = message.id
        if arrives and isinstance(message, PinAnswer):
            self._answered = message.compartment
        if isinstance(message, Ack) and message.environment is not None:
            self._hear_environment(message.environment)
        return arrives

    def _arrives(self, message: Message) -> bool:
        if isinstance(message, Open) and self._environment is None:
            return False  # virtual doors are no answer to a command of production
        if not self._loses or (isinstance(message, Ack) and message.about == self._beat):
            return True  # answers to heartbeats come by themselves: the one that is lost is one that somebody awaits
        self._loses = False
        return False

    def _hear_environment(self, environment: str) -> None:
        if environment == "sandbox":
            self._environment = environment
        else:
            self._end(ProductionError(f"the service is {environment}: the page of a virtual box is for a sandbox only"))

    def lines_after(self, number: int) -> list[dict[str, Any]]:
        return [each for each in self._lines if each["number"] > number]

    # What a person does

    async def act(self, given: Mapping[str, Any]) -> None:
        """One act by its name; raises ActRefusedError if it cannot be, TypeError if it is none."""
        if self._environment is None:
            raise ActRefusedError("The service has not said yet that it is a sandbox.")
        rest = dict(given)
        name = rest.pop("act", None)
        if name == "power":
            await self._switch_power(**rest)
        elif isinstance(name, str) and name in self._acts:
            self._acts[name](**rest)
        else:
            raise TypeError("no such act")

    def _press(self, *, keys: str) -> None:
        if not 0 < len(keys) <= KEYS_AT_ONCE:
            raise TypeError("not keys")
        if self._box is None:
            raise ActRefusedError("There is no power.")
        for key in keys:
            if len(self._pressing) < KEYS_AT_ONCE:
                pressed = asyncio.get_running_loop().create_task(self._box.press(key))
                self._pressing.add(pressed)
                pressed.add_done_callback(self._pressing.discard)

    def _close(self, *, door: str) -> None:
        self._known(door)
        self.driver.close_door(door)

    def _put(self, *, door: str) -> None:
        self._reach_into(door)
        self.driver.holding.add(door)

    def _take(self, *, door: str) -> None:
        self._reach_into(door)
        self.driver.holding.discard(door)

    def _reach_into(self, door: str) -> None:
        self._known(door)
        if not self.driver.is_open(door):
            raise ActRefusedError(f"{door} is closed.")

    def _known(self, door: str) -> None:
        if door not in self._places:
            raise ActRefusedError("The box has no such compartment.")

    def _jam(self, *, door: str, on: bool) -> None:
        self._known(door)
        (self.driver.jammed.add if on else self.driver.jammed.discard)(door)

    def _stick(self, *, door: str, on: bool) -> None:
        self._known(door)
        if not on:
            self.driver.free_sensor(door)
        elif not self.driver.is_stuck(door):
            self.driver.stick_sensor(door)

    def _lose(self, *, on: bool) -> None:
        self._loses = on

    def _switch_cable(self, *, on: bool) -> None:
        self._cut = not on
        if not on:
            self._cable.cut()
        elif self._box is not None:
            self._cable.mend()

    async def _switch_power(self, *, on: bool) -> None:
        async with self._turn:
            if on and self._box is None and self._over is not None and not self._over.done():
                self._light()
            elif not on:
                self._cable.cut()
                await self._darken()

    def _light(self) -> None:
        self.driver.powered = True
        self._said, self._answered = Said(), None
        if not self._cut:
            self._cable.mend()
        self._box = Box(self._settings, self.driver, self._show, self._cable)
        self._running = asyncio.create_task(self._box.run())
        self._running.add_done_callback(self._ended_by_itself)

    def _ended_by_itself(self, running: asyncio.Task[None]) -> None:
        if not running.cancelled():
            self._end(running.exception())

    async def _darken(self) -> None:
        """What the program had in memory is gone."""
        self.driver.powered = False
        tasks = [*self._pressing, *([self._running] if self._running else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._box = self._running = None

    def _show(self, text: str) -> None:
        self._said = Said(text, self._answered or self._opening(), ticks())
        self._answered = None

    def _opening(self) -> str | None:
        """The door that is being opened; without network no answer names it."""
        doors = [] if self._box is None else [*self._box.cabinet.doors.values()]
        releasing = [door for door in doors if door.state is DoorState.RELEASING]
        return max(releasing, key=lambda door: door.try_ends).compartment if releasing else None

    # What a person sees

    def state(self) -> dict[str, Any]:
        now = ticks()
        box = self._box
        protected = {} if box is None else {code: ceil(left) for code, left in box.alone.protected().items()}
        self._rings = {code: max(left, self._rings.get(code, 0)) for code, left in protected.items()}
        return {
            "device": self._settings.device,
            "environment": self._environment,
            "power": box is not None,
            "cable": not self._cut,
            "connected": box is not None and box.link.connected,
            "loses": self._loses,
            "waiting": 0 if box is None else box.journal.waiting,
            "display": words.plain(words.NO_POWER if box is None else self._display(box, now)),
            "doors": [self._door(code, box, protected.get(code)) for code in self._places],
        }

    def _display(self, box: Box, now: float) -> words.Display:
        return words.display(
            now,
            sandbox=self._environment is not None,
            connected=box.link.connected,
            throttle=box.throttle,
            typed=box.typed,
            asks=box.asks,
            said=self._said,
        )

    def _door(self, code: str, box: Box | None, protected: int | None) -> dict[str, Any]:
        column, row = self._places[code]
        return {
            "code": code,
            "column": column,
            "row": row,
            "open": self.driver.is_open(code),
            "sensed": None if box is None else box.cabinet.doors[code].state,
            "parcel": code in self.driver.holding,
            "jammed": code in self.driver.jammed,
            "stuck": self.driver.is_stuck(code),
            "protected": None if protected is None else {"left": protected, "of": self._rings[code]},
        }
