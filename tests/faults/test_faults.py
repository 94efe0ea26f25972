"""A fleet in trouble: messages doubled, overtaken, late; broker, gateways and boxes killed. No door cycle is lost."""

import asyncio
import os
import random
import resource
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from pickupbox.api.app import make_app
from pickupbox.box.settings import BoxSettings
from pickupbox.settings import Settings
from pickupbox.usecases.boxes import codes
from pickupbox.usecases.check import check
from pickupbox.usecases.core import Core, open_core
from tests.devices.broker import Broker, mosquitto
from tests.devices.street import add_device
from tests.faults import ledger
from tests.faults.people import live
from tests.faults.station import Station
from tests.faults.street import Street
from tests.faults.way import Way
from tests.support.databases import environment_of, own_database
from tests.support.processes import Process
from tests.support.shop import Shop, open_shop

BOXES = int(os.environ.get("PICKUPBOX_FAULT_BOXES", "20"))
CYCLES = int(os.environ.get("PICKUPBOX_FAULT_CYCLES", "120"))
BROKER_KILLS = int(os.environ.get("PICKUPBOX_FAULT_BROKER_KILLS", "1"))
GATEWAY_KILLS = int(os.environ.get("PICKUPBOX_FAULT_GATEWAY_KILLS", "3"))
BOX_KILLS = int(os.environ.get("PICKUPBOX_FAULT_BOX_KILLS", "10"))
LATE_SECONDS = float(os.environ.get("PICKUPBOX_FAULT_LATE_SECONDS", "11"))  # more than a PIN waits for its answer
SEED = int(os.environ.get("PICKUPBOX_FAULT_SEED", "1"))

COMPARTMENTS = 6
PEOPLE = min(3 * BOXES, 300)  # at the same time; each box has 3 of them at most
GATEWAYS = 2
SETTLE_SECONDS = 180
FILES = 8_000
SHARED = Path("/dev/shm")  # noqa: S108 - in memory: 1,000 boxes have 1,000 disks, and here they would share one
MEMORY = SHARED if SHARED.is_dir() else None


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(FILES, hard)), hard))
    with mosquitto(tmp_path_factory.mktemp("faults"), plain=True) as running:
        yield running


@pytest.fixture(scope="module")
def settings(broker: Broker) -> Iterator[Settings]:
    with own_database() as made:
        yield made.model_copy(update={"mqtt_url": broker.url, "database_pool": 6, "log_level": "warning"})


@pytest_asyncio.fixture(scope="module")
async def core(settings: Settings) -> AsyncIterator[Core]:
    core = open_core(settings)
    async with core.db.connection() as connection:
        await connection.execute(ledger.NOTES)
    yield core
    await core.db.close()


@dataclass
class Trouble:
    """The processes that are killed."""

    broker: Broker
    gateways: list[Process]


@pytest.fixture
def trouble(settings: Settings, broker: Broker, tmp_path: Path) -> Iterator[Trouble]:
    environment = environment_of(settings)
    worker = Process(["worker"], environment, tmp_path / "worker.log")
    gateways = [Process(["gateway"], environment, tmp_path / f"gateway-{n}.log") for n in range(GATEWAYS)]
    yield Trouble(broker, gateways)
    for process in (worker, *gateways):
        process.stop()


@pytest_asyncio.fixture
async def street(core: Core, broker: Broker) -> AsyncIterator[Street]:
    shop = await open_shop(core, make_app(core, "memory://"))
    chance = random.Random(SEED)  # noqa: S311 - a repeatable test, not a secret
    way = Way(broker.port, chance, (LATE_SECONDS, LATE_SECONDS * 1.25))
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        stations = [await a_station(shop, way, Path(folder), number) for number in range(BOXES)]
        street = Street(core, shop.tenant, way, stations, chance, patience=12.5 * LATE_SECONDS)
        for station in stations:
            station.start()
        async with shop.http:
            yield street
            await asyncio.gather(*(station.stop() for station in stations))


async def a_station(shop: Shop, way: Way, folder: Path, number: int) -> Station:
    """Some boxes protect for longer, and there loaders correct."""
    protection, corrections = (4, 0.4) if number % 5 == 0 else (1, 0.0)
    box = await shop.add_box(COMPARTMENTS, protection_seconds=protection, cooldown_seconds=1)
    device = await add_device(shop, box)
    settings = BoxSettings(
        device=device,
        compartments=tuple(codes(COMPARTMENTS)),
        journal=folder / device,
        mqtt_port=way.port,
        look_seconds=0.1 if BOXES <= 100 else 0.3,
        heartbeat_seconds=2 if BOXES <= 100 else 15,
    )
    return Station(box, settings, way, corrections)


async def visit_until_enough(street: Street) -> None:
    """People come and go until there were that many door cycles."""
    numbers = iter(range(CYCLES))
    places = [station for station in street.stations for _ in range(3)]
    street.chance.shuffle(places)
    free = asyncio.Queue()
    for station in places:
        free.put_nowait(station)

    async def person() -> None:
        while street.cycles < CYCLES:
            station = free.get_nowait()
            await live(street, station, f"order-{next(numbers)}")
            free.put_nowait(station)

    async with asyncio.TaskGroup() as people:
        for _ in range(PEOPLE):
            people.create_task(person())


async def spread(street: Street, kills: int, kill: Callable[[], Awaitable[None]]) -> None:
    """Kill that often, evenly over the run."""
    for number in range(kills):
        while street.cycles < CYCLES * (number + 1) / (kills + 1):  # noqa: ASYNC110 - it counts what many do
            await asyncio.sleep(0.1)
        await kill()


async def kill_everything(street: Street, trouble: Trouble) -> None:
    chance = street.chance

    async def kill_broker() -> None:
        trouble.broker.kill()
        await asyncio.sleep(chance.uniform(0, 2))
        await asyncio.to_thread(trouble.broker.start)
        street.tally["broker kills"] += 1

    async def kill_gateway() -> None:
        gateway = chance.choice(trouble.gateways)
        gateway.kill()
        await asyncio.sleep(chance.uniform(0, 1))
        gateway.start()
        street.tally["gateway kills"] += 1

    async def cut_power() -> None:
        """Mostly where someone is at the moment, and for as long as it takes to find the fuse."""
        lit = [station for station in street.stations if station.doors.powered]
        station = chance.choice([station for station in lit if station.people] or lit)
        if any(station.doors.opened[code].is_set() for code in station.doors.parcels):
            street.tally["box kills before an open door"] += 1
        station.cut()
        street.tally["box kills"] += 1
        restarts.append(asyncio.create_task(restart(station, chance.uniform(0.2, 3))))

    async def restart(station: Station, seconds: float) -> None:
        await asyncio.sleep(seconds)
        station.start()

    restarts: list[asyncio.Task[None]] = []
    await asyncio.gather(
        spread(street, BROKER_KILLS, kill_broker),
        spread(street, GATEWAY_KILLS, kill_gateway),
        spread(street, BOX_KILLS, cut_power),
    )
    await asyncio.gather(*restarts)


async def settled(street: Street) -> None:
    """Until every journal is committed and acknowledged to its end."""
    end = time.monotonic() + SETTLE_SECONDS
    while True:
        async with street.core.db.connection() as connection:
            left = await ledger.behind(connection, street.stations)
        if not left:
            return
        assert time.monotonic() < end, left[:5]
        await asyncio.sleep(0.5)


async def run(street: Street, trouble: Trouble) -> None:
    """All of it, until nothing is under way any more."""
    began = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(visit_until_enough(street))
        tasks.create_task(kill_everything(street, trouble))
    street.tally["seconds"] = round(time.monotonic() - began)
    await settled(street)
    await street.way.emptied()
    await settled(street)


@pytest.mark.slow
async def test_every_door_cycle_is_in_the_service_exactly_once_and_no_parcel_in_an_available_compartment(
    street: Street, trouble: Trouble
) -> None:
    async with asyncio.TaskGroup() as tasks:
        beside = [tasks.create_task(street.way.run()), tasks.create_task(street.watch())]
        await run(street, trouble)
        for task in beside:
            task.cancel()
    async with street.core.db.connection() as connection:
        differences = await ledger.differences(connection, street.stations, street.tally)
        odd_lives = await ledger.not_loaded_and_collected_once(connection, street.tenant)
        aside = await connection.fetchval("SELECT count(*) FROM set_aside")
        out = await connection.fetchval("SELECT count(*) FROM compartments WHERE NOT in_service")
    print(dict(street.tally), dict(street.way.tally))

    assert (differences, odd_lives) == ([], [])
    assert street.endangered == []
    doors = [(station.doors, code) for station in street.stations for code in station.doors.parcels]
    assert not [code for door, code in doors if door.parcels[code] is not None or door.is_open(code)]
    assert street.tally["cycles compared"] == street.cycles >= CYCLES
    assert (aside, out) == (0, 0)
    assert [finding for finding in await check(street.core, street.tenant) if finding.breaches] == []
    kills = [street.tally[f"{who} kills"] for who in ("broker", "gateway", "box")]
    assert kills == [BROKER_KILLS, GATEWAY_KILLS, BOX_KILLS]
    met = {fate: street.way.tally[fate] / street.way.tally["messages"] for fate in ("twice", "overtaken", "late")}
    assert met["twice"] > 0.04, met
    assert met["overtaken"] > 0.04, met
    assert met["late"] > 0.005, met
