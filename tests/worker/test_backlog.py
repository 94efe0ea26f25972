"""20,000 deadlines due at once: two workers, under 30 seconds, each exactly once."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from pickupbox.database import reservations
from pickupbox.settings import Settings
from pickupbox.usecases.check import check
from tests.support.databases import environment_of
from tests.support.processes import Process
from tests.support.shop import Shop, asked
from tests.support.waiting import until

DEADLINES = int(os.environ.get("PICKUPBOX_BACKLOG", "20000"))
BOX_SIZE = 500
SECONDS = 30


@pytest.mark.slow
async def test_20000_deadlines_at_once_are_done_by_two_workers_in_30_seconds(
    shop: Shop, settings: Settings, tmp_path: Path
) -> None:
    await reserve_many(shop)
    logs = [tmp_path / f"worker-{n}.log" for n in range(2)]
    workers = [Process(["worker"], environment_of(settings), log) for log in logs]
    try:
        await until(lambda: all("worker_started" in log.read_text() for log in logs))
        await make_all_due(shop)
        began = time.monotonic()
        while await still_due(shop):
            assert time.monotonic() - began < SECONDS
            await asyncio.sleep(0.1)
        took = time.monotonic() - began
    finally:
        for worker in workers:
            worker.stop()
    async with shop.core.db.connection() as connection:
        told = await connection.fetch(
            "SELECT type, count(*), count(DISTINCT shipment_id) FROM events WHERE tenant_id = $1 GROUP BY type",
            shop.tenant,
        )
    expected = {(kind, DEADLINES, DEADLINES) for kind in ("reserved", "expired", "door_available")}
    assert {tuple(row.values()) for row in told} == expected
    assert not [finding for finding in await check(shop.core, shop.tenant) if finding.breaches]
    print(f"{DEADLINES} deadlines in {took:.1f} s, {DEADLINES / took:,.0f} a second")


async def reserve_many(shop: Shop) -> None:
    boxes = [await shop.add_box(compartments=BOX_SIZE) for _ in range(-(-DEADLINES // BOX_SIZE))]
    for first in range(0, DEADLINES, 100):
        batch = [asked(shop, f"order-{n}", boxes[n // BOX_SIZE]) for n in range(first, first + 100)]
        async with shop.core.db.connection() as connection:
            made = await reservations.insert_many(connection, batch)
            for n, shipment in enumerate(made):  # a PIN that is taken in its box
                while shipment is None:
                    again = asked(shop, f"order-{first + n}", boxes[(first + n) // BOX_SIZE])
                    (shipment,) = await reservations.insert_many(connection, [again])


async def make_all_due(shop: Shop) -> None:
    """Every reservation was made with a time to live that ends now."""
    async with shop.core.db.transaction() as tx:
        await tx.execute(
            """
            WITH moved AS (
                UPDATE shipments SET due_at = now(), created_at = created_at - d, updated_at = updated_at - d,
                    reservation_expires_at = reservation_expires_at - d
                FROM make_interval(days => 1) AS d WHERE tenant_id = $1
            )
            UPDATE events SET shipment_created_at = shipment_created_at - d, occurred_at = occurred_at - d
            FROM make_interval(days => 1) AS d WHERE tenant_id = $1
            """,
            shop.tenant,
        )


async def still_due(shop: Shop) -> bool:
    async with shop.core.db.connection() as connection:
        found: bool = await connection.fetchval(
            "SELECT EXISTS (SELECT FROM shipments WHERE tenant_id = $1 AND due_at IS NOT NULL)", shop.tenant
        )
    return found
