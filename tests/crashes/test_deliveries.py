"""No webhook is lost: receivers that fail in every way, workers that are killed or told to stop, steps in between."""

import asyncio
import os
import random
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from pickupbox.database import lanes
from pickupbox.database.lanes import Claimed, Settled
from pickupbox.domain.lifecycle import Event, Trigger
from pickupbox.settings import Settings
from pickupbox.usecases.check import check
from pickupbox.usecases.core import Core, open_core
from pickupbox.usecases.steps import lock, prepare, record
from pickupbox.webhooks.schedule import BACK_OFF
from tests.crashes.receivers import AFTER_THE_STORM, GOOD, STORM, Receiver
from tests.crashes.told import Street, Told, within
from tests.support.databases import environment_of, own_database
from tests.support.journeys import journeys, reserve_one, take, travel
from tests.support.processes import Process

EVENTS = int(os.environ.get("PICKUPBOX_DELIVERY_EVENTS", "400"))
KILLS = int(os.environ.get("PICKUPBOX_DELIVERY_KILLS", "8"))
SEED = int(os.environ.get("PICKUPBOX_DELIVERY_SEED", "1"))
WORKERS = 3
CALLERS = 16
ENDPOINTS = (1, 2, 3, 4, 5)  # of each tenant
FILTERS = (None, None, (Event.RESERVED, Event.DOOR_AVAILABLE), (Event.LOADED, Event.PICKED_UP, Event.FAULT), None)
KILL_SECONDS = 1.0  # between two kills, in the mean
PAUSE_SECONDS = 0.2  # between two steps of a journey, in the mean
SCHEDULE = ",".join(["0", *["0.2"] * 9, *["1"] * 10, *["2"] * 10])  # so many tries that nothing is given up
# What a killed worker held comes back when its lease ends; an endpoint that was restarted may back off for longer.
END_SECONDS = 2 * lanes.LEASE_SECONDS + 1.2 * BACK_OFF.longest.total_seconds() + EVENTS / 100


@pytest.fixture(scope="module")
def settings() -> Iterator[Settings]:
    with own_database() as made:
        # Few connections: those of killed workers linger for a moment, and the server has not many.
        yield made.model_copy(update={"webhook_loopback": True, "webhook_schedule": SCHEDULE, "database_pool": 6})


@pytest_asyncio.fixture(scope="module")
async def core(settings: Settings) -> AsyncIterator[Core]:
    core = open_core(settings)
    yield core
    await core.db.close()


@pytest_asyncio.fixture
async def street(core: Core, settings: Settings, tmp_path: Path) -> AsyncIterator[Street]:
    workers: list[Process] = []

    def start_worker(name: str) -> Process:
        workers.append(Process(["worker"], environment_of(settings), tmp_path / f"{name}.log"))
        return workers[-1]

    street = Street(core, start_worker, SEED)
    yield street
    # In threads: the receivers go on answering while the workers finish.
    await asyncio.gather(*(asyncio.to_thread(worker.stop) for worker in workers))
    for told in street.told:
        await told.receiver.close()


async def tell(street: Street, chosen: list[tuple[str, ...]], may_begin: asyncio.Semaphore) -> None:
    """Send shipments on their journeys, several at a time, as they may begin."""
    chance = random.Random(SEED)  # noqa: S311
    numbered = iter(enumerate(chosen))
    tenants = sorted(street.boxes)

    async def caller() -> None:
        for number, steps in numbered:
            tenant = tenants[number % len(tenants)]
            await may_begin.acquire()
            await travel(street.core, tenant, street.boxes[tenant], f"order-{number}", steps, chance, PAUSE_SECONDS)

    await asyncio.gather(*(caller() for _ in range(CALLERS)))


async def kill_at_random(workers: list[Process], logs: list[Path], journeys: int, may_begin: asyncio.Semaphore) -> None:
    """Each kill meets new journeys, and a worker that had the time to start: it should have something in its hands."""
    chance = random.Random(SEED)  # noqa: S311
    starts = [1] * len(workers)
    waiting = list(range(len(workers)))
    for _ in range(KILLS):
        victim = waiting.pop(chance.randrange(len(workers) - 1))
        await within(30, partial(has_started, logs[victim], starts[victim]), "the worker did not start")
        for _ in range(-(-journeys // KILLS)):
            may_begin.release()
        await asyncio.sleep(chance.uniform(0.2, 1.8) * KILL_SECONDS)
        workers[victim].kill()
        workers[victim].start()
        starts[victim] += 1
        waiting.append(victim)


async def has_started(log: Path, times: int) -> bool:
    return (await asyncio.to_thread(log.read_text)).count("worker_started") >= times


@asynccontextmanager
async def restarting(receivers: list[Receiver]) -> AsyncIterator[None]:
    """Now and then one of the receivers is restarted."""

    async def restart() -> None:
        chance = random.Random(SEED)  # noqa: S311
        while True:
            await asyncio.sleep(chance.uniform(0.5, 2.5))
            await chance.choice(receivers).restart(chance.uniform(0.02, 0.4))

    restarts = asyncio.create_task(restart())
    try:
        yield
    finally:
        restarts.cancel()
        await asyncio.gather(restarts, return_exceptions=True)


@pytest.mark.slow
async def test_every_event_arrives_in_order_while_receivers_fail_and_workers_are_killed(
    street: Street, tmp_path: Path
) -> None:
    began = time.monotonic()
    for count in ENDPOINTS:
        await street.add_tenant(*FILTERS[:count])
    receivers = [told.receiver for told in street.told]
    for receiver in receivers:
        receiver.habits = STORM
    workers = [street.start_worker(f"worker-{number}") for number in range(WORKERS)]
    logs = [tmp_path / f"worker-{number}.log" for number in range(WORKERS)]
    chosen = journeys(EVENTS, random.Random(SEED))  # noqa: S311
    may_begin = asyncio.Semaphore(0)
    async with restarting(receivers):
        await asyncio.gather(tell(street, chosen, may_begin), kill_at_random(workers, logs, len(chosen), may_begin))
    for receiver in receivers:
        receiver.habits = AFTER_THE_STORM
    await street.wait_until_all_is_told(END_SECONDS)
    await assert_all_accepted_in_order(street)
    events, attempts = await street.count("events"), await street.count("webhook_attempts")
    requests = sum(receiver.requests.total() for receiver in receivers)
    unsettled = await count_unsettled(street)
    assert unsettled > 0, "no kill ever met an exchange: the test proves nothing"
    assert events >= EVENTS
    assert not await street.count("webhook_attempts", "outcome = 'given_up'")
    print(
        f"\n{events} events, {sum(len(receiver.accepted) for receiver in receivers)} deliveries accepted, "
        f"{sum(receiver.doubles for receiver in receivers)} duplicates, {requests} requests, {attempts} attempts kept, "
        f"{unsettled} met by a kill, {sum(receiver.restarts for receiver in receivers)} restarts, "
        f"{KILLS} kills, {time.monotonic() - began:.0f} s"
    )


async def count_unsettled(street: Street) -> int:
    """Requests that arrived and are kept as no attempt: their worker died before it could settle."""
    arrived = Counter(
        {(told.endpoint_id, each): n for told in street.told for each, n in told.receiver.requests.items()}
    )
    question = "SELECT endpoint_id, event_id FROM webhook_attempts WHERE error IS DISTINCT FROM 'connect'"
    return (arrived - Counter(await street.fetch(question))).total()


async def assert_all_accepted_in_order(street: Street) -> None:
    """Each endpoint accepted every event of its tenant and its filter, nothing else, each shipment's in order."""
    rows = await street.fetch("SELECT id, tenant_id, type, shipment_id, sequence FROM events")
    places = {event_id: (shipment_id, sequence) for event_id, _, _, shipment_id, sequence in rows}
    for told in street.told:
        wanted = {
            event_id
            for event_id, tenant, kind, _, _ in rows
            if tenant == told.tenant and (told.types is None or kind in told.types)
        }
        assert set(told.receiver.requests) <= wanted, "events that it has no business with"
        assert wanted <= set(told.receiver.accepted), "events were lost"
        assert told.receiver.forged == []
        by_shipment = defaultdict(list)
        for event_id in told.receiver.accepted:
            shipment_id, sequence = places[event_id]
            by_shipment[shipment_id].append(sequence)
        assert {each: heard for each, heard in by_shipment.items() if heard != sorted(heard)} == {}
    assert [finding for finding in await check(street.core) if finding.breaches] == []


@pytest.mark.slow
async def test_a_worker_that_is_told_to_stop_finishes_what_it_can_and_gives_back_the_rest(street: Street) -> None:
    slow, hanging = await street.add_tenant(None, None)
    slow.receiver.habits, slow.receiver.slow_seconds = {"be slow": 1000}, 2.0
    hanging.receiver.habits = {"hang": 1000}
    for number in range(8):
        await reserve_one(street.core, slow.tenant, street.boxes[slow.tenant], f"order-{number}")
    first = street.start_worker("first")

    async def are_both_busy() -> bool:
        return bool(slow.receiver.requests and hanging.receiver.hanging)

    await within(20, are_both_busy, "nothing is under way")
    under_way = set(slow.receiver.requests) - set(slow.receiver.accepted)
    held = set(hanging.receiver.hanging)
    hanging.receiver.habits = GOOD
    told_to_stop = time.monotonic()
    stopping = asyncio.create_task(asyncio.to_thread(first.stop))  # which allows it 10 s
    street.start_worker("second")
    await street.wait_until_all_is_told(lanes.LEASE_SECONDS / 2)
    assert time.monotonic() - told_to_stop < lanes.LEASE_SECONDS / 2
    await stopping
    assert under_way
    assert {slow.receiver.requests[event_id] for event_id in under_way} == {1}
    assert held
    assert {hanging.receiver.requests[event_id] for event_id in held} == {2}
    await assert_all_accepted_in_order(street)


def accepted(lane: Claimed) -> Settled:
    return Settled(lane, "accepted", None, 200, None, 1, "")


async def claim_all(street: Street, told: Told) -> list[Claimed]:
    async with street.core.db.connection() as connection:
        return await lanes.claim(connection, [lanes.Wish(told.endpoint_id, 1000, probe=False)])


async def settle(street: Street, claimed: list[Claimed]) -> list[bool]:
    """Settle as a worker does; for each whether its lane goes on."""
    async with street.core.db.connection() as connection:
        return list(await lanes.settle_many(connection, [accepted(lane) for lane in claimed]))


async def is_one_waiting(street: Street) -> bool:
    waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    return bool(await street.fetch(waiting))


async def race_freely(street: Street, lane: Claimed, chance: random.Random) -> None:
    async def step() -> None:
        await asyncio.sleep(chance.uniform(0, 0.004))
        await take(street.core, lane.tenant_id, lane.shipment_id, "fault")

    async def settled() -> None:
        await asyncio.sleep(chance.uniform(0, 0.004))
        await settle(street, [lane])

    await asyncio.gather(step(), settled())


async def settle_while_a_step_commits(street: Street, lane: Claimed) -> None:
    async with street.core.db.transaction() as tx:
        await record(tx, prepare(street.core, await lock(tx, lane.tenant_id, lane.shipment_id), Trigger.FAULT))
        settling = asyncio.create_task(settle(street, [lane]))
        await within(5, partial(is_one_waiting, street), "the settling did not wait for the step")
    assert await settling == [True]


async def step_while_a_settling_commits(street: Street, lane: Claimed) -> None:
    async with street.core.db.transaction() as tx:
        assert await lanes.settle_many(tx, [accepted(lane)]) == [False]
        stepping = asyncio.create_task(take(street.core, lane.tenant_id, lane.shipment_id, "fault"))
        await within(5, partial(is_one_waiting, street), "the step did not wait for the settling")
    await stepping


@pytest.mark.slow
async def test_a_step_that_commits_while_its_lane_is_told_to_its_end_is_not_lost(street: Street) -> None:
    (told,) = await street.add_tenant(None)
    chance = random.Random(SEED)  # noqa: S311
    for number in range(310):
        await reserve_one(street.core, told.tenant, street.boxes[told.tenant], f"order-{number}")
    first = await claim_all(street, told)
    for lane in first[:5]:
        await settle_while_a_step_commits(street, lane)
    for lane in first[5:10]:
        await step_while_a_settling_commits(street, lane)
    for start in range(10, 310, 3):
        await asyncio.gather(*(race_freely(street, lane, chance) for lane in first[start : start + 3]))
    second = await claim_all(street, told)
    assert len(first) == len(second) == 310
    assert {lane.shipment_id: lane.sequence for lane in second} == {lane.shipment_id: 2 for lane in first}
    await settle(street, second)
    assert not await street.count("webhook_lanes")
    assert await street.count("webhook_attempts", "outcome = 'accepted'") == await street.count("events") == 620
