"""`pickupbox listen` misses nothing while its connections are cut, the API is killed, and it is killed itself."""

import asyncio
import os
import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from pickupbox.settings import Settings
from tests.crashes.receivers import Receiver
from tests.listen.desk import Desk, Listener, Network, network_to, within
from tests.listen.test_listen import BEGINS, GOES_ON, secret_of
from tests.support.databases import environment_of
from tests.support.journeys import journeys, travel
from tests.support.processes import Process, free_port
from tests.support.shop import Shop

EVENTS = int(os.environ.get("PICKUPBOX_LISTEN_EVENTS", "400"))
CUTS = int(os.environ.get("PICKUPBOX_LISTEN_CUTS", "8"))
SEED = int(os.environ.get("PICKUPBOX_LISTEN_SEED", "1"))
KILLS = max(1, CUTS // 16)  # of the API, and as many of listen
CALLERS = 6
SECONDS = 60 + 10 * KILLS + EVENTS / 20


class Api:
    """The API, which comes back at another port when it was killed: its own may be somebody else's by then."""

    def __init__(self, settings: Settings, log: Path) -> None:
        self._environment = environment_of(settings.model_copy(update={"database_pool": 4}))
        self._log = log
        self.start()

    def start(self) -> None:
        self.port = free_port()
        self.process = Process(["api", "--port", str(self.port)], self._environment, self._log)
        self.process.wait_until_ready(f"http://127.0.0.1:{self.port}/readyz")


@pytest_asyncio.fixture
async def api(settings: Settings, tmp_path: Path) -> AsyncIterator[Api]:
    api = await asyncio.to_thread(Api, settings, tmp_path / "api")
    yield api
    await asyncio.to_thread(api.process.stop)


@pytest_asyncio.fixture
async def receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver(random.Random(SEED))  # noqa: S311
    yield receiver
    await receiver.close()


async def tell(shop: Shop, chosen: list[tuple[str, ...]], may_begin: asyncio.Semaphore) -> None:
    """Send shipments on their journeys, several at a time, as they may begin."""
    chance = random.Random(SEED)  # noqa: S311
    box = await shop.add_box(compartments=len(chosen))
    numbered = iter(enumerate(chosen))

    async def caller() -> None:
        for number, steps in numbered:
            await may_begin.acquire()
            await travel(shop.core, shop.tenant, box, f"order-{number}", steps, chance, 0.01)

    await asyncio.gather(*(caller() for _ in range(CALLERS)))


async def cut_at_random(
    network: Network, api: Api, listener: Listener, journeys: int, may_begin: asyncio.Semaphore
) -> None:
    """Each cut meets new events on their way; in between the API is killed, and listen too."""
    chance = random.Random(SEED)  # noqa: S311
    kills = ["API", "listen"] * KILLS
    at = {CUTS * (number + 1) // (len(kills) + 1): kill for number, kill in enumerate(kills)}
    for number in range(CUTS):
        for _ in range(-(-journeys // CUTS)):
            may_begin.release()
        await asyncio.sleep(chance.uniform(0.1, 0.6))
        cuts = network.cuts
        if number % 2:
            network.cut_in_answer(chance.randrange(2000))
            await within(lambda before=cuts: network.cuts > before, lambda: "nothing was asked", SECONDS)
        else:
            await within(network.cut, lambda: "there was no connection", SECONDS)
        match at.get(number):
            case "API":
                api.process.kill()
                await asyncio.to_thread(api.start)
                network.target = api.port
            case "listen":
                listener.kill()
                listener.start()


async def told_by(shop: Shop) -> dict[str, tuple[str, int]]:
    """Of every event its shipment and its number there."""
    async with shop.core.db.connection() as connection:
        rows = await connection.fetch("SELECT id, shipment_id, sequence FROM events WHERE tenant_id = $1", shop.tenant)
    return {row["id"]: (row["shipment_id"], row["sequence"]) for row in rows}


@pytest.mark.slow
async def test_no_event_is_missed_over_cut_connections(
    api: Api, shop: Shop, receiver: Receiver, tmp_path: Path
) -> None:
    began = time.monotonic()
    chosen = journeys(EVENTS + EVENTS // 8, random.Random(SEED))  # noqa: S311
    may_begin = asyncio.Semaphore(0)
    async with network_to(api.port) as (network, entrance):
        desk = Desk(f"http://127.0.0.1:{entrance}/v1", shop.api_key, tmp_path)
        try:
            listener = desk.listen("--forward-to", receiver.url, "--json")
            await listener.says(BEGINS)
            await receiver.listen(secret_of(listener))
            await asyncio.gather(
                tell(shop, chosen, may_begin),
                cut_at_random(network, api, listener, len(chosen), may_begin),
            )
            told = await told_by(shop)
            await within(
                lambda: told.keys() <= receiver.accepted.keys(),
                lambda: f"{len(told.keys() - receiver.accepted.keys())} of {len(told)} are missing: {listener.said()}",
                SECONDS,
            )
            await listener.says(GOES_ON, times=KILLS)
            assert await listener.interrupt() == 0
        finally:
            desk.close()
        seconds = time.monotonic() - began
    told = await told_by(shop)
    assert len(told) >= EVENTS
    assert network.cuts >= CUTS
    assert receiver.forged == []
    assert receiver.accepted.keys() <= told.keys()
    assert_in_order(list(receiver.accepted), told)
    printed = [line["event"]["id"] for line in listener.events()]
    assert told.keys() - set(printed) <= told.keys() - receiver.accepted.keys(), "forwarded, and not shown"
    assert_in_order(list(dict.fromkeys(printed)), told)
    assert receiver.doubles <= 2 * KILLS, "only what was under way when it was killed comes again"
    shown_twice = len(printed) - len(set(printed))
    print(
        f"\n{len(told):,} events over {network.cuts} cut connections, {KILLS} kills of the API and {KILLS} of listen, "
        f"in {seconds:.0f} s: none missed, {receiver.doubles} came twice, {shown_twice} shown twice"
    )


def assert_in_order(event_ids: list[str], told: dict[str, tuple[str, int]]) -> None:
    by_shipment = defaultdict(list)
    for event_id in event_ids:
        shipment_id, number = told[event_id]
        by_shipment[shipment_id].append(number)
    assert {each: numbers for each, numbers in by_shipment.items() if numbers != sorted(numbers)} == {}
