"""The street: API, broker, gateway, worker, the program in the box and webhooks, all real, through whole lives."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from starlette.types import ASGIApp

from pickupbox.api.app import make_app
from pickupbox.box.settings import BoxSettings
from pickupbox.settings import Settings
from pickupbox.usecases.check import check
from pickupbox.usecases.core import Caller, Core, open_core
from pickupbox.usecases.removal import confirm_empty, open_for_removal, release_in_emergency
from tests.box.street import Running, a_box
from tests.devices.broker import Broker, mosquitto
from tests.devices.street import add_device
from tests.support.databases import environment_of, own_database
from tests.support.processes import Process
from tests.support.shop import Shop, open_shop
from tests.webhooks.receiving import Receiver, open_receiver, subscribe

SECONDS = 20.0
CODES = tuple(f"A{n}" for n in range(1, 7))


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with mosquitto(tmp_path_factory.mktemp("street"), plain=True) as running:
        yield running


@pytest.fixture(scope="module")
def settings(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A database of its own, with a gateway and a worker as processes."""
    with own_database() as made:
        chosen = made.model_copy(update={"mqtt_url": broker.url, "webhook_loopback": True})
        folder = tmp_path_factory.mktemp("processes")
        kinds = ("gateway", "worker")
        processes = [Process([kind], environment_of(chosen), folder / f"{kind}.log") for kind in kinds]
        try:
            yield chosen
        finally:
            for process in processes:
                process.stop()


@pytest_asyncio.fixture(scope="module")
async def core(settings: Settings) -> AsyncIterator[Core]:
    core = open_core(settings)
    yield core
    await core.db.close()


@pytest.fixture(scope="module")
def app(core: Core) -> ASGIApp:
    return make_app(core, "memory://")


@dataclass
class Corner:
    """A shop with one box on the street, and what its endpoint was told."""

    shop: Shop
    running: Running
    receiver: Receiver

    async def type(self, pin: str) -> str:
        """Type a PIN; what the display shows then."""
        shown = len(self.running.shown)
        for digit in pin:
            await self.running.box.press(digit)
        await until(lambda: _true(len(self.running.shown) > shown))
        return self.running.shown[-1]

    async def open_by(self, pin: str, code: str) -> None:
        assert await self.type(pin) == "opening"
        await until(lambda: _true(self.running.driver.is_open(code)))

    async def cycle(self, pin: str, code: str) -> None:
        """Open by the PIN, and close again."""
        await self.open_by(pin, code)
        await asyncio.sleep(0.3)  # the sensor is looked at every 50 ms
        self.running.driver.close_door(code)

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


async def _true(value: bool) -> bool:
    return value


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SECONDS):
        while not await holds():  # noqa: ASYNC110 - it asks other processes
            await asyncio.sleep(0.05)


@pytest_asyncio.fixture
async def corner(core: Core, app: ASGIApp, broker: Broker, tmp_path: Path) -> AsyncIterator[Corner]:
    shop = await open_shop(core, app, compartments=len(CODES))
    box = await shop.add_box(len(CODES), protection_seconds=2, cooldown_seconds=1)
    device = await add_device(shop, box)
    settings = BoxSettings(
        device=device,
        compartments=CODES,
        journal=tmp_path / "journal",
        mqtt_port=broker.port,
        look_seconds=0.05,
        heartbeat_seconds=1.0,
    )
    async with shop.http, open_receiver() as receiver, a_box(settings) as running:
        await subscribe(shop, receiver.url)

        async def known() -> bool:
            async with core.db.connection() as connection:
                return await connection.fetchval("SELECT last_seen_at IS NOT NULL FROM devices WHERE id = $1", device)

        await until(known)
        await asyncio.sleep(1.2)  # the heartbeat's answer tells the box the service's clock
        yield Corner(Shop(core, shop.tenant, shop.key_id, shop.api_key, box, shop.http), running, receiver)


async def reserve(corner: Corner, order: str) -> tuple[str, str, str]:
    made = (await corner.shop.reserve(order)).json()
    return made["id"], made["pickup_pin"], made["compartment_code"]


async def test_a_parcel_is_loaded_corrected_collected_and_its_compartment_released(corner: Corner, core: Core) -> None:
    shipment, pin, code = await reserve(corner, "order")
    await corner.cycle(pin, code)
    await corner.shows(shipment, "loaded", "occupied", False)
    await corner.open_by(pin, code)  # the loader corrects, and the protection ends while the door is open
    await asyncio.sleep(2.5)
    await corner.was_told(shipment, "reserved")
    corner.running.driver.close_door(code)
    await corner.shows(shipment, "loaded", "occupied", True)
    await corner.was_told(shipment, "reserved", "loaded")
    await corner.cycle(pin, code)
    await corner.shows(shipment, "picked_up", "available", False)
    await corner.was_told(shipment, "reserved", "loaded", "picked_up", "door_available")
    assert await corner.type(pin) == "refused"
    assert [finding.breaches for finding in await check(core, corner.shop.tenant) if finding.breaches] == []


async def test_a_jammed_lock_is_a_fault_that_is_emptied_and_retried(corner: Corner, core: Core) -> None:
    operator = Caller(corner.shop.tenant, "operator one")
    shipment, pin, code = await reserve(corner, "order")
    corner.running.driver.jammed.add(code)
    assert await corner.type(pin) == "opening"
    await corner.shows(shipment, "fault", "awaiting_removal", False)
    corner.running.driver.jammed.clear()
    await open_for_removal(core, operator, shipment)
    await until(lambda: _true(corner.running.driver.is_open(code)))
    await asyncio.sleep(0.3)
    corner.running.driver.close_door(code)

    async def released() -> bool:
        try:
            await confirm_empty(core, operator, shipment)
        except Exception as refused:  # noqa: BLE001 - the door's last word may still be under way
            return type(refused).__name__ not in ("RemovalCycleMissing",) and _raise(refused)
        return True

    await until(released)
    await corner.was_told(shipment, "reserved", "fault", "removed", "door_available")
    retried = (await corner.shop.retry(shipment)).json()
    assert (retried["attempt_number"], retried["status"]) == (2, "reserved")
    await corner.cycle(retried["pickup_pin"], retried["compartment_code"])
    await corner.shows(retried["id"], "loaded", "occupied", False)
    assert [finding.breaches for finding in await check(core, corner.shop.tenant) if finding.breaches] == []


def _raise(error: Exception) -> bool:
    raise error


async def test_cancelling_behind_an_open_door_awaits_removal_and_two_people_can_release(
    corner: Corner, core: Core
) -> None:
    shipment, pin, code = await reserve(corner, "order")
    await corner.open_by(pin, code)

    async def loading() -> bool:
        async with core.db.connection() as connection:
            return await connection.fetchval("SELECT stage = 'loading' FROM shipments WHERE id = $1", shipment)

    await until(loading)
    cancelled = (await corner.shop.cancel(shipment)).json()
    assert (cancelled["status"], cancelled["compartment_state"]) == ("cancelled", "awaiting_removal")
    one, two = Caller(corner.shop.tenant, "one"), Caller(corner.shop.tenant, "two")
    assert await release_in_emergency(core, one, shipment, "the sensor is broken") is None
    with pytest.raises(Exception, match="two different people"):
        await release_in_emergency(core, one, shipment, "the sensor is broken")
    assert await release_in_emergency(core, two, shipment, "the sensor is broken") is not None
    await corner.was_told(shipment, "reserved", "cancelled", "removed", "door_available")
    assert [finding.breaches for finding in await check(core, corner.shop.tenant) if finding.breaches] == []
