"""Delivery in trouble: endpoints that fail, ask for a pause or are gone; a database that goes away; a stop."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise

import httpx
import pytest
from aiohttp import web
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from pickupbox.database import lanes
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core, open_core
from pickupbox.webhooks import delivery as delivering_module
from tests.support.shop import Shop
from tests.support.waiting import until
from tests.webhooks.receiving import Received, Receiver, always, delivering, fetch, open_receiver, subscribe, waiting


async def back_off(core: Core, endpoint: str) -> list[tuple[object, ...]]:
    return await fetch(
        core,
        "SELECT failures, extract(epoch FROM resume_at - now())::float FROM webhook_failures WHERE endpoint_id = $1",
        endpoint,
    )


async def test_five_failures_in_a_row_stop_all_lanes_of_the_endpoint_and_no_other(
    shop: Shop, receiver: Receiver, other_receiver: Receiver
) -> None:
    receiver.reply = always(500)
    endpoint = (await subscribe(shop, receiver.url)).id
    await subscribe(shop, other_receiver.url)

    async def backed_off() -> bool:
        rows = await back_off(shop.core, endpoint)
        return bool(rows) and rows[0][1] is not None

    async with delivering(shop.core, schedule=(0, 60, 60)):
        for order in range(12):
            await shop.reserved(f"order-{order}")
        await until(backed_off, 5)
        await asyncio.sleep(0.3)
        tried = len(receiver.got)
        await other_receiver.until(12)
    assert 5 <= tried <= 8
    assert len(receiver.got) == tried
    assert len(await waiting(shop.core, shop.tenant)) == 12


async def test_an_endpoint_that_is_well_again_is_probed_with_one_and_then_gets_all(
    shop: Shop, receiver: Receiver
) -> None:
    endpoint = (await subscribe(shop, receiver.url)).id
    for order in range(8):
        await shop.reserved(f"order-{order}")
    release = asyncio.Event()

    async def hold(_: Received) -> web.Response:
        await release.wait()
        return web.Response()

    receiver.reply = hold
    async with shop.core.db.connection() as connection:
        await connection.execute(
            "INSERT INTO webhook_failures (endpoint_id, failures, resume_at) VALUES ($1, 9, now() + interval '0.3 s')",
            endpoint,
        )
    async with delivering(shop.core):
        await receiver.until(1)
        await asyncio.sleep(0.3)
        assert len(receiver.got) == 1
        release.set()
        await receiver.until(8)
        await until(lambda: _is_empty(back_off(shop.core, endpoint)), 5)


async def _is_empty(rows: Awaitable[Sequence[object]]) -> bool:
    return not await rows


@pytest.mark.parametrize("status", [429, 503])
async def test_an_endpoint_that_asks_for_a_pause_gets_it_with_all_its_lanes(
    shop: Shop, receiver: Receiver, status: int
) -> None:
    receiver.reply = always(status, Retry_After="120")
    endpoint = (await subscribe(shop, receiver.url)).id
    async with delivering(shop.core):
        await shop.reserved("A")
        await until(lambda: _is_paused(shop.core, endpoint), 5)
        await shop.reserved("B")
        await asyncio.sleep(0.3)
    assert len(receiver.got) == 1
    assert await back_off(shop.core, endpoint) == [(1, pytest.approx(120, abs=5))]


async def _is_paused(core: Core, endpoint: str) -> bool:
    return bool(await back_off(core, endpoint))


async def test_an_endpoint_that_is_gone_is_disabled_and_reported_and_what_waits_stays(
    shop: Shop, receiver: Receiver
) -> None:
    receiver.reply = always(410)
    endpoint = (await subscribe(shop, receiver.url)).id

    async def disabled() -> bool:
        rows = await fetch(shop.core, "SELECT disabled_because FROM webhook_endpoints WHERE id = $1", endpoint)
        return rows == [("it answered 410 Gone",)]

    with capture_logs() as logs:
        async with delivering(shop.core):
            shipment = await shop.reserved("A")
            await until(disabled, 5)
            await shop.reserved("B")
            await asyncio.sleep(0.2)
    assert len(receiver.got) == 1
    assert await waiting(shop.core, shop.tenant) == [(endpoint, shipment, [1])]
    told = [line for line in logs if line["event"] == "webhook_endpoint_disabled"]
    assert [(line["endpoint"], line["cause"]) for line in told] == [(endpoint, "410")]


@pytest.mark.parametrize("said", ["9" * 400, "Mon, 01 Jan 2031 00:00:00 +99999999999999999999", "\u0663", "soon"])
async def test_an_unreadable_retry_after_leaves_the_schedule_as_it_is(
    shop: Shop, receiver: Receiver, said: str
) -> None:
    async def once(_: Received) -> web.Response:
        return web.Response(status=503, headers={"Retry-After": said}) if len(receiver.got) == 1 else web.Response()

    receiver.reply = once
    await subscribe(shop, receiver.url)
    async with delivering(shop.core):
        await shop.reserved("A")
        await receiver.until(1)
        await until(lambda: _tried(shop), 5)


async def _tried(shop: Shop) -> bool:
    return bool(await fetch(shop.core, "SELECT FROM webhook_attempts WHERE tenant_id = $1", shop.tenant))


async def test_a_receiver_that_was_away_gets_all_in_order_when_it_is_back(shop: Shop, nothing_waits: None) -> None:
    async with open_receiver() as first:
        url = first.url
    await subscribe(shop, url)
    async with delivering(shop.core, schedule=(0, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2)):
        shipment = await shop.reserved("A", "expired")
        await until(lambda: _tried(shop), 5)
        async with open_receiver(int(url.split(":")[2].split("/")[0])) as second:
            await second.until(3, seconds=10)
            assert second.told() == [(shipment, kind) for kind in ("reserved", "expired", "door_available")]
    errors = await fetch(shop.core, "SELECT DISTINCT error FROM webhook_attempts WHERE tenant_id = $1", shop.tenant)
    assert ("connect",) in errors


@asynccontextmanager
async def other_core(settings: Settings) -> AsyncIterator[Core]:
    """A worker has a pool of its own."""
    core = open_core(settings)
    yield core
    await core.db.close()


CUT = "SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid"
LISTENING = """
    SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN "pickupbox"'
"""


async def test_a_database_that_goes_away_and_comes_back_loses_nothing(
    shop: Shop, settings: Settings, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "LEASE_SECONDS", 1.0)
    await subscribe(shop, receiver.url)
    every = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"

    async def again(ask: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
        """As a shop does: what is unavailable for a moment is asked for again."""
        async with asyncio.timeout(10):
            while (answer := await ask()).status_code == 503:  # noqa: ASYNC110 - nobody tells when it is back
                await asyncio.sleep(0.05)
        assert answer.is_success, answer.text
        return answer

    async with other_core(settings) as worker, delivering(worker):
        for cut in range(5):
            made = await again(partial(shop.reserve, f"order-{cut}"))
            await receiver.until(1)
            async with shop.core.db.connection() as connection:
                await connection.execute(f"SELECT pg_terminate_backend(pid) FROM ({every}) AS others")
            await again(partial(shop.cancel, made.json()["id"]))
        await until(lambda: _is_empty(waiting(shop.core, shop.tenant)), 15)
    ids = {one.event["id"] for one in receiver.got}
    told = await fetch(shop.core, "SELECT id FROM events WHERE tenant_id = $1", shop.tenant)
    assert ids == {event_id for (event_id,) in told}
    first = {one.event["id"]: number for number, one in reversed(list(enumerate(receiver.got)))}
    order = await fetch(
        shop.core, "SELECT shipment_id, id FROM events WHERE tenant_id = $1 ORDER BY shipment_id, sequence", shop.tenant
    )
    for (shipment, event_id), (next_shipment, next_id) in pairwise(order):
        assert shipment != next_shipment or first[event_id] < first[next_id]


async def test_after_its_listening_connection_was_lost_a_worker_is_woken_again(
    shop: Shop, settings: Settings, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    await subscribe(shop, receiver.url)
    known: set[tuple[int]] = set()

    async def listens_anew() -> bool:
        return bool(set(await fetch(shop.core, LISTENING)) - known)

    async with other_core(settings) as worker, delivering(worker):
        await until(listens_anew, 5)
        known |= set(await fetch(shop.core, LISTENING))
        await fetch(shop.core, CUT, [pid for (pid,) in known])
        await until(listens_anew, 5)
        monkeypatch.setattr(delivering_module, "POLL_SECONDS", 30.0)
        for number, order in enumerate("ABC", start=1):
            await shop.reserved(order)
            await receiver.until(number, seconds=3)


async def test_a_round_that_fails_is_logged_and_counted_and_does_not_end_the_worker(
    shop: Shop, receiver: Receiver
) -> None:
    def counted(result: str) -> float:
        return REGISTRY.get_sample_value("pickupbox_loop_runs_total", {"loop": "webhooks", "result": result}) or 0

    await subscribe(shop, receiver.url)
    failed, began = counted("error"), time.time()
    async with shop.core.db.connection() as connection:
        await connection.execute("ALTER TABLE webhook_lanes RENAME TO webhook_lanes_away")
    try:
        with capture_logs() as logs:
            async with delivering(shop.core):
                await asyncio.sleep(0.3)
                async with shop.core.db.connection() as connection:
                    await connection.execute("ALTER TABLE webhook_lanes_away RENAME TO webhook_lanes")
                await shop.reserved("A")
                await receiver.until(1)
    finally:
        async with shop.core.db.connection() as connection:
            await connection.execute("ALTER TABLE IF EXISTS webhook_lanes_away RENAME TO webhook_lanes")
    assert any(line["log_level"] == "error" for line in logs)
    assert counted("error") > failed
    last = REGISTRY.get_sample_value("pickupbox_loop_last_success_timestamp_seconds", {"loop": "webhooks"})
    assert last is not None
    assert last > began


async def test_a_worker_that_stops_finishes_what_is_under_way(shop: Shop, receiver: Receiver) -> None:
    async def slow(_: Received) -> web.Response:
        await asyncio.sleep(0.5)
        return web.Response()

    receiver.reply = slow
    await subscribe(shop, receiver.url)
    await shop.reserved("A")
    async with delivering(shop.core):
        await receiver.until(1)
    assert await waiting(shop.core, shop.tenant) == []
    assert await fetch(shop.core, "SELECT outcome FROM webhook_attempts WHERE tenant_id = $1", shop.tenant) == [
        ("accepted",)
    ]


async def test_a_worker_that_stops_gives_back_what_does_not_end(
    shop: Shop, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivering_module, "GRACE_SECONDS", 0.2)

    async def hang(_: Received) -> web.Response:
        await asyncio.sleep(9)
        return web.Response()

    receiver.reply = hang
    await subscribe(shop, receiver.url)
    await shop.reserved("A")
    async with delivering(shop.core):
        await receiver.until(1)
    rows = await fetch(
        shop.core, "SELECT due_at <= now(), attempts FROM webhook_lanes WHERE tenant_id = $1", shop.tenant
    )
    assert rows == [(True, 0)]
