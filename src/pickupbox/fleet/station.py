"""One box of the street: the real program on virtual doors, and a keypad that one person uses at a time."""

import asyncio
import random
import time
from collections.abc import Iterable
from pathlib import Path

from pickupbox.box.cable import Cable
from pickupbox.box.clock import ticks
from pickupbox.box.doors import TRIES, TRY_SECONDS, DoorState
from pickupbox.box.drivers.virtual import VirtualDriver
from pickupbox.box.program import NO_ANSWER, Box
from pickupbox.box.settings import PREFIX, read_settings
from pickupbox.devices.messages import Message
from pickupbox.domain.doors import Verdict
from pickupbox.fleet.figures import Figures
from pickupbox.fleet.seeding import Place

# Hundreds of boxes share one core: each looks at its doors twice a second, and at once when it is to open one.
LOOK_SECONDS = 0.5
HEARTBEAT_SECONDS = 15
DOOR_SECONDS = TRY_SECONDS * TRIES + 5  # a lock that has not moved by then has been given up
SEEN_SECONDS = 0.2


class Doors(VirtualDriver):
    def __init__(self, compartments: Iterable[str]) -> None:
        codes = tuple(compartments)
        super().__init__(codes)
        self.opened = {code: asyncio.Event() for code in codes}

    async def unlock(self, compartment: str) -> None:
        await super().unlock(compartment)
        if self.is_open(compartment):
            self.opened[compartment].set()

    def close_door(self, compartment: str) -> None:
        super().close_door(compartment)
        self.opened[compartment].clear()


class Station:
    def __init__(self, place: Place, mqtt_url: str, folder: Path, figures: Figures) -> None:
        self.box_id = place.box_id
        self.free = len(place.compartments)  # compartments for which nobody is under way
        self.pins: set[str] = set()
        self.doors = Doors(place.compartments)
        self._figures = figures
        self._keypad = asyncio.Lock()
        self._said = ""
        self._cable = Cable(self._passes)
        settings = read_settings(
            {
                f"{PREFIX}DEVICE": place.device,
                f"{PREFIX}COMPARTMENTS": ",".join(place.compartments),
                f"{PREFIX}JOURNAL": str(folder / place.device),
                f"{PREFIX}MQTT_URL": mqtt_url,
                f"{PREFIX}LOOK_SECONDS": str(LOOK_SECONDS),
                f"{PREFIX}HEARTBEAT_SECONDS": str(HEARTBEAT_SECONDS),
            }
        )
        self._box = Box(settings, self.doors, self._show, self._cable)
        self._running: asyncio.Task[None] | None = None

    def _passes(self, _: Message) -> bool:
        self._figures.messages += 1
        return True

    def _show(self, text: str) -> None:
        self._said = text

    async def start(self) -> None:
        """Until it has reached the broker."""
        self._running = asyncio.create_task(self._box.run())
        while not self._box.link.connected:
            if self._running.done():
                await self._running
            await asyncio.sleep(0.05)

    async def stop(self) -> None:
        if self._running is None:
            self._box.journal.close()
            return
        self._box.stop()
        await self._running

    def cut_cable(self, seconds: float) -> None:
        self._cable.cut()
        asyncio.get_running_loop().call_later(seconds, self._cable.mend)

    def wrong_pin(self) -> str:
        """One that opens no door here."""
        return next(pin for pin in iter(_any_pin, "") if pin not in self.pins)

    async def type(self, pin: str, compartment: str) -> tuple[str, float]:
        """Type a PIN, with the compartment's code if the keypad wants it: what the display says then, and when it was
        one's turn."""
        async with self._keypad:
            began = time.perf_counter()
            self._said = NO_ANSWER
            coded = f"{compartment}#" if self._box.throttle.needs_compartment(ticks()) else ""
            for key in f"*{coded}{pin}":
                await self._box.press(key)
            return self._said, began

    async def come_in(self, pin: str, compartment: str) -> bool:
        """Type the PIN, once, and wait whether the door opens."""
        opened = self.doors.opened[compartment]
        said, began = await self.type(pin, compartment)
        if said == Verdict.OPENING:
            try:
                async with asyncio.timeout(DOOR_SECONDS):
                    await opened.wait()
            except TimeoutError:
                return False
            self._figures.pin_to_door.add(time.perf_counter() - began)
            return True
        if said == NO_ANSWER:
            self._figures.no_answers += 1
        elif said != Verdict.COMPARTMENT_NEEDED:
            self._figures.refused += 1
        return False

    async def close(self, compartment: str) -> None:
        """Close the door after a moment. Nobody is so quick with a parcel that the sensor has not seen it open."""
        await asyncio.sleep(random.uniform(0.5, 1.5))  # noqa: S311 - people, no secret
        while self._box.cabinet.doors[compartment].state is not DoorState.OPEN:  # noqa: ASYNC110 - it does not say when
            await asyncio.sleep(SEEN_SECONDS)
        self.doors.close_door(compartment)
        self._figures.door_cycles += 1


def _any_pin() -> str:
    return f"{random.randrange(1_000_000):06}"  # noqa: S311 - a guess
