"""Workers side by side: each deadline is acted on exactly once."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from pickupbox.settings import Settings
from pickupbox.usecases.check import check
from pickupbox.usecases.clock import sweep
from pickupbox.usecases.core import Core, open_core
from pickupbox.worker.process import work
from tests.support.shop import Shop
from tests.support.waiting import until

SHIPMENTS = 200


@pytest.fixture
async def workers(settings: Settings) -> AsyncIterator[list[Core]]:
    """Two cores with pools of their own, as two processes have."""
    cores = [open_core(settings), open_core(settings)]
    yield cores
    for core in cores:
        await core.db.close()


@pytest.fixture
async def due(shop: Shop, nothing_else_due: None) -> str:
    """A box full of shipments that are all due now."""
    box = await shop.add_box(SHIPMENTS)
    answers = await asyncio.gather(*(shop.reserve(f"order-{number}", box) for number in range(SHIPMENTS)))
    assert {answer.status_code for answer in answers} == {201}
    async with shop.core.db.connection() as connection:
        # As `elapse`, but for all of them in one go.
        await connection.execute(
            """
            WITH moved AS (
                UPDATE shipments SET created_at = created_at - d, updated_at = updated_at - d, due_at = due_at - d,
                    reservation_expires_at = reservation_expires_at - d
                FROM make_interval(days => 2) AS d WHERE box_id = $1 RETURNING id
            )
            UPDATE events SET shipment_created_at = shipment_created_at - d, occurred_at = occurred_at - d
            FROM make_interval(days => 2) AS d WHERE shipment_id IN (SELECT id FROM moved)
            """,
            box,
        )
    return box


async def assert_each_expired_once(shop: Shop, box: str) -> None:
    async with shop.core.db.connection() as connection:
        trails = await connection.fetch("SELECT trail, event_count FROM shipments WHERE box_id = $1", box)
        told = await connection.fetch(
            "SELECT count(*) AS times FROM events WHERE data ->> 'box_id' = $1 GROUP BY shipment_id, type", box
        )
    assert [(row["trail"], row["event_count"]) for row in trails] == [(["reserve", "expire"], 3)] * SHIPMENTS
    assert [row["times"] for row in told] == [1] * (3 * SHIPMENTS)
    assert [finding for finding in await check(shop.core, shop.tenant) if finding.breaches] == []


async def test_two_sweepers_take_each_deadline_once(shop: Shop, workers: list[Core], due: str) -> None:
    async def sweep_all(core: Core) -> list[int]:
        counts = []
        for _ in range(SHIPMENTS):
            counts.append(await sweep(core, 10))
            if counts[-1] == 0:
                break
        return counts

    counts = await asyncio.gather(*(sweep_all(core) for core in workers))
    # What one left out because the other held it, the other has done.
    assert sum(sum(one) for one in counts) == SHIPMENTS
    assert all(sum(one) > 0 for one in counts)
    await assert_each_expired_once(shop, due)


async def test_two_workers_take_each_deadline_once(
    shop: Shop, settings: Settings, workers: list[Core], due: str
) -> None:
    stop = asyncio.Event()
    running = [asyncio.create_task(work(core, settings, stop)) for core in workers]
    live = "SELECT count(*) FROM shipments WHERE box_id = $1 AND released_at IS NULL"

    async def done() -> bool:
        async with shop.core.db.connection() as connection:
            return await connection.fetchval(live, due) == 0

    await until(done, seconds=10)
    stop.set()
    await asyncio.wait_for(asyncio.gather(*running), timeout=5)
    await assert_each_expired_once(shop, due)


async def test_a_sweeper_leaves_out_what_someone_else_is_moving(
    shop: Shop, workers: list[Core], nothing_else_due: None
) -> None:
    first, second = await shop.reserved("A"), await shop.reserved("B")
    one, other = workers
    async with one.db.connection() as connection:
        await connection.execute("UPDATE shipments SET due_at = now() WHERE tenant_id = $1", shop.tenant)
    async with one.db.transaction() as tx:
        await tx.execute("SELECT FROM shipments WHERE id = $1 FOR NO KEY UPDATE", first)
        assert await asyncio.wait_for(sweep(other, 10), timeout=2) == 1
    assert (await shop.read(first)).json()["status"] == "reserved"
    assert (await shop.read(second)).json()["status"] == "expired"
    assert await sweep(other, 10) == 1
