"""Loaders, customers and operators: they see doors and displays, and nothing of what goes on behind them."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

from pickupbox.domain.errors import Conflict, NotAwaitingRemoval
from pickupbox.domain.grants import read_offline_command
from pickupbox.domain.lifecycle import Stage
from pickupbox.usecases.core import Caller
from pickupbox.usecases.removal import confirm_empty, open_for_removal
from pickupbox.usecases.reserve import Wish, reserve
from tests.devices.street import ask
from tests.faults.station import Station
from tests.faults.street import Street, insist

HELD = Stage.FAULT_HELD
OPENS_NO_MORE = (HELD, Stage.COOLING, Stage.COLLECTED)
COMMAND_SECONDS = 32  # a command that has not opened the door by then never will
CONFIRM_SECONDS = 20
CLOSES_IN_THE_DARK = 0.5


@dataclass
class Visit:
    """Someone is at the box for one shipment."""

    street: Street
    station: Station
    shipment: str
    compartment: str
    pin: str
    tries: list[str] = field(default_factory=list)  # what the display said when the door did not open
    opened_by: list[str | None] = field(default_factory=list)  # the commands that opened it

    async def come_in(self) -> bool:
        """Type the PIN until the door opens. False: it opens no more, the shipment is a fault or was collected."""
        opened = self.station.doors.opened[self.compartment]
        while not opened.is_set():
            said = await self.station.type(self.pin, self.compartment)
            if opened.is_set():
                break
            self.tries.append(said)
            self.street.tally[f"tried again: {said}"] += 1
            if self.street.stages.get(self.shipment) in OPENS_NO_MORE:
                return False
            # Not too soon: five tries without an answer close the keypad for a minute.
            await asyncio.sleep(self.street.chance.uniform(2, 5))
        self.opened_by.append(self.station.box.cabinet.doors[self.compartment].command)
        return True

    async def close(self) -> None:
        """Shut the door after a moment. If the power goes meanwhile, some do not care and some wait for the light."""
        chance, doors = self.street.chance, self.station.doors
        careless = chance.random() < CLOSES_IN_THE_DARK
        await asyncio.sleep(chance.uniform(0.4, 1))
        while not (doors.was_read_open(self.compartment) or (careless and not doors.powered)):  # noqa: ASYNC110 - two clocks
            await asyncio.sleep(0.1)
        doors.close_by(self.compartment, self.shipment)
        self.street.tally["door cycles"] += 1

    async def load(self) -> bool:
        if not await self.come_in():
            return False
        lying = self.station.doors.parcels[self.compartment]
        assert lying is None, f"the loader of {self.shipment} finds {lying} in {self.compartment}"
        self.station.doors.parcels[self.compartment] = self.shipment
        await self.close()
        return True

    async def correct(self) -> bool:
        """Open again soon after loading. False: too late, it opened for a pickup, and the parcel was taken along."""
        await asyncio.sleep(self.street.chance.uniform(0.3, 1.5))
        if not await self.come_in():
            return False
        in_time = await self._purpose() != "pick_up"
        self.street.tally["corrections" if in_time else "corrections that came too late"] += 1
        if not in_time:
            self.take_out()
        await self.close()
        return in_time

    async def _purpose(self) -> str:
        """For what this door was opened: by the service, or by a box that got no answer and opened by itself."""
        command = self.station.box.cabinet.doors[self.compartment].command
        assert command is not None
        asked = "SELECT purpose FROM door_commands WHERE id = $1"
        found = await insist(lambda: ask(self.street.core, asked, command))
        return found[0][0] if found else read_offline_command(command)[0]

    async def collect(self) -> bool:
        if not await self.come_in():
            return False
        self.take_out()
        await self.close()
        return True

    def take_out(self) -> None:
        self.station.doors.parcels[self.compartment] = None

    async def remove(self) -> None:
        """An operator opens, empties, closes and confirms, as often as it takes."""
        operator = Caller(self.street.tenant, "operator")
        while True:
            try:
                command = await insist(lambda: open_for_removal(self.street.core, operator, self.shipment))
            except NotAwaitingRemoval:
                return  # the last confirmation was taken, only its answer was lost
            if not await self._opens(command.id):
                continue
            self.take_out()
            await self.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(CONFIRM_SECONDS):
                    await self._confirm(operator)
                    return

    async def _opens(self, command: str) -> bool:
        """Wait for the door, as long as the command may still open it and the box has not refused it."""
        opened, asked = self.station.doors.opened[self.compartment], "SELECT outcome FROM door_commands WHERE id = $1"
        for _ in range(COMMAND_SECONDS):
            with suppress(TimeoutError):
                async with asyncio.timeout(1):
                    return await opened.wait()
            if await insist(lambda: ask(self.street.core, asked, command)) == [("refused",)]:
                break
        return opened.is_set()

    async def _confirm(self, operator: Caller) -> None:
        while True:
            try:
                await insist(lambda: confirm_empty(self.street.core, operator, self.shipment))
            except Conflict:  # the door's last word is still under way
                await asyncio.sleep(0.5)
            else:
                return


async def live(street: Street, station: Station, order: str) -> None:
    """One shipment from its reservation until its compartment is released."""
    shop, wish = Caller(street.tenant, "shop"), Wish(station.box_id, order)
    made = await insist(lambda: reserve(street.core, shop, wish))
    visit = Visit(street, station, made.shipment.id, made.shipment.compartment_code, made.pin)
    station.people += 1
    try:
        async with asyncio.timeout(street.patience):
            await _live(visit)
    except TimeoutError:
        door = "open" if station.doors.is_open(visit.compartment) else "closed"
        raise AssertionError(
            f"{order} at {station.box_id}/{visit.compartment} got no further than {street.stages.get(visit.shipment)}: "
            f"{visit.tries}, opened by {visit.opened_by}, door {door}"
        ) from None
    finally:
        station.people -= 1


async def _live(visit: Visit) -> None:
    street, shipment = visit.street, visit.shipment
    lies_there = await visit.load()
    if lies_there and street.chance.random() < visit.station.corrections:
        lies_there = await visit.correct()
    stage = await street.reaches(shipment, Stage.READY if lies_there else Stage.COLLECTED, HELD)
    if stage is Stage.READY:
        await visit.collect()
        stage = await street.reaches(shipment, Stage.COLLECTED, HELD)
    if stage is HELD:
        street.tally["faults"] += 1
        await visit.remove()
    street.tally["shipments"] += 1
