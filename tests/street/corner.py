"""A shop with one box on the street, and what people do there."""

import asyncio
from dataclasses import dataclass

from pickupbox.usecases.check import check
from pickupbox.usecases.core import Core
from tests.box.street import Running
from tests.support.shop import Shop
from tests.support.waiting import until
from tests.webhooks.receiving import Receiver

CODES = tuple(f"A{n}" for n in range(1, 7))


@dataclass
class Corner:
    """A shop with one box on the street, and what its endpoint was told."""

    shop: Shop
    device: str
    running: Running
    receiver: Receiver

    async def type(self, pin: str) -> str:
        """Type a PIN; what the display shows then."""
        shown = len(self.running.shown)
        for digit in pin:
            await self.running.box.press(digit)
        await until(lambda: len(self.running.shown) > shown)
        return self.running.shown[-1]

    async def open_by(self, pin: str, code: str) -> None:
        assert await self.type(pin) == "opening"
        await until(lambda: self.running.driver.is_open(code))

    async def cycle(self, pin: str, code: str) -> None:
        """Open by the PIN, and close again."""
        await self.open_by(pin, code)
        await asyncio.sleep(0.3)  # the sensor is looked at every 50 ms
        self.running.driver.close_door(code)

    async def cut(self, pin: str) -> None:
        """Cut the cable, once the box may open for the PIN by itself."""
        await until(lambda: self.running.box.alone.judge(pin, None) is not None)
        self.running.cable.cut()
        await until(lambda: not self.running.box.link.connected)

    async def mend(self) -> None:
        self.running.cable.mend()
        await until(lambda: self.running.box.link.connected)

    async def shows(self, shipment: str, *wanted: object) -> None:
        """Wait until the API shows status, compartment state and pickup enabled so."""

        async def so() -> bool:
            read = (await self.shop.read(shipment)).json()
            return (read["status"], read["compartment_state"], read["pickup_enabled"]) == wanted

        await until(so)

    async def was_told(self, shipment: str, *types: str) -> None:
        async def so() -> bool:
            return [kind for of, kind in self.receiver.told() if of == shipment] == list(types)

        await until(so)


async def reserve(corner: Corner, order: str) -> tuple[str, str, str]:
    made = (await corner.shop.reserve(order)).json()
    return made["id"], made["pickup_pin"], made["compartment_code"]


async def stage_is(core: Core, shipment: str, stage: str) -> None:
    async def so() -> bool:
        async with core.db.connection() as connection:
            return await connection.fetchval("SELECT stage = $2 FROM shipments WHERE id = $1", shipment, stage)

    await until(so)


async def ledgers_agree(corner: Corner, shipment: str, *types: str) -> None:
    """Box, service and shop have the same story: the whole journal was heard, and every event told, once."""
    box = corner.running.box
    await until(lambda: not box.journal.waiting)
    async with corner.shop.core.db.connection() as connection:
        heard = await connection.fetchval("SELECT seq FROM journals WHERE device_id = $1", corner.device)
        open_doors = await connection.fetch("SELECT FROM doors WHERE box_id = $1 AND is_open", corner.shop.box_id)
    assert (heard, open_doors, box.cabinet.open_doors) == (box.journal.last, [], [])
    assert await corner.shop.events(shipment) == list(types)
    await corner.was_told(shipment, *types)
    assert await breaches(corner) == []


async def breaches(corner: Corner) -> list[list[str]]:
    return [finding.breaches for finding in await check(corner.shop.core, corner.shop.tenant) if finding.breaches]
