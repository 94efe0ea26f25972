"""The street: all boxes, and at the given rate someone to whom a shipment is sent."""

import asyncio
import random
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from pickupbox.box.journal import JournalError
from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.fleet.figures import Figures
from pickupbox.fleet.people import Life, any_fate
from pickupbox.fleet.seeding import FleetError, Place, prepare
from pickupbox.fleet.shop import ApiError, Shop
from pickupbox.fleet.station import Station
from pickupbox.settings import Settings
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.tenants import revoke_key

START_SECONDS = 60.0
STARTS_AT_ONCE = 10
STOP_SECONDS = 6.0
UNDER_WAY = 5_000  # shipments at most
LOOKS = 20  # boxes that someone looks at for a free compartment


class Street:
    def __init__(self, core: Core, settings: Settings, folder: Path, figures: Figures) -> None:
        self._core = core
        self._settings = settings
        self._folder = folder
        self._figures = figures
        self._stations: list[Station] = []
        self._run = token_hex(4)

    async def play(self, base_url: str, seconds: float, faults: float) -> None:
        """Set up, let shipments begin for so many seconds, and wait until each has ended."""
        ground = await prepare(self._core, self._figures.boxes)
        shop = Shop(base_url, ground.key.api_key, self._figures)
        try:
            await shop.catch_up()
            await self._open(ground.places)
            following = asyncio.create_task(shop.follow())
            try:
                await self._live(shop, Caller(ground.tenant, "fleet operator"), seconds, faults)
            finally:
                following.cancel()
        except ApiError as error:
            raise FleetError(f"{error}\nIs the sandbox's API there? See --base-url.") from None
        finally:
            await shop.close()
            with suppress(TemporarilyUnavailable):  # then the next fleet does it
                await revoke_key(self._core, Caller(ground.tenant, "fleet operator"), ground.key.id)

    async def _open(self, places: tuple[Place, ...]) -> None:
        """Every box has reached the broker. A few at a time: a broker that is knocked down helps nobody."""
        starting = asyncio.Semaphore(STARTS_AT_ONCE)

        async def start(place: Place) -> None:
            async with starting:
                try:
                    station = Station(place, self._settings.mqtt_url, self._folder, self._figures)
                    self._stations.append(station)
                    async with asyncio.timeout(START_SECONDS):
                        await station.start()
                except TimeoutError:
                    raise FleetError(
                        f"A box did not reach {self._settings.mqtt_url} within {START_SECONDS:.0f} s. "
                        "Does the broker run, and let in who has no name? See PICKUPBOX_MQTT_URL."
                    ) from None
                except JournalError as error:
                    raise FleetError(f"A box has no journal: {error}") from None
                self._figures.connected += 1

        try:
            async with asyncio.TaskGroup() as tasks:
                for place in places:
                    tasks.create_task(start(place))
        except ExceptionGroup as errors:
            first = errors.exceptions[0]
            raise first from first.__cause__

    async def _live(self, shop: Shop, operator: Caller, seconds: float, faults: float) -> None:
        clock = asyncio.get_running_loop().time
        began = due = clock()
        number = 0
        async with asyncio.TaskGroup() as lives:
            while True:
                due = max(due + random.expovariate(self._figures.rate), clock() - 1)
                await asyncio.sleep(max(0.0, min(due, began + seconds) - clock()))
                self._figures.seconds = clock() - began
                if self._figures.seconds >= seconds:
                    return
                station = self._with_room() if self._figures.under_way < UNDER_WAY else None
                if station is None:
                    self._figures.no_room += 1
                    continue
                number += 1
                life = Life(self._core, operator, shop, station, self._figures, any_fate(faults))
                lives.create_task(life.live(f"{self._run}-{number}"))

    def _with_room(self) -> Station | None:
        looked_at = (random.choice(self._stations) for _ in range(LOOKS))  # noqa: S311 - people, no secret
        return next((station for station in looked_at if station.free), None)

    async def close(self) -> None:
        """Every box says goodbye, within a limit."""
        if self._stations:
            stopping = [asyncio.create_task(station.stop()) for station in self._stations]
            _, late = await asyncio.wait(stopping, timeout=STOP_SECONDS)
            for task in late:
                task.cancel()
            for ended in await asyncio.gather(*stopping, return_exceptions=True):
                if isinstance(ended, Exception):
                    self._figures.troubles.append(f"a box ended with {ended!r}")
