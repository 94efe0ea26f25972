"""The order of GET /events, while transactions commit in another order than they began."""

import asyncio
import itertools
from contextlib import AsyncExitStack
from typing import Any

from pickupbox.database import reservations, shipments
from pickupbox.database.connection import Connection
from pickupbox.domain.lifecycle import Trigger
from pickupbox.usecases.steps import lock, prepare
from tests.api.feeds import SECONDS, by_shipment, ids, page, read_on, settled, stored
from tests.support.shop import Shop, asked


async def reserve(tx: Connection, shop: Shop, order: str, box_id: str | None = None) -> None:
    """A reservation in a transaction of the test's own, by the statement that the API uses."""
    (made,) = await reservations.insert_many(tx, [asked(shop, order, box_id or shop.box_id)])
    assert made is not None


async def move(tx: Connection, shop: Shop, shipment_id: str, trigger: Trigger) -> None:
    locked = await lock(tx, shop.tenant, shipment_id)
    await shipments.record(tx, [prepare(shop.core, locked, trigger, simulated=True)])


async def test_a_transaction_that_began_earlier_and_commits_later_is_never_skipped(shop: Shop) -> None:
    await shop.reserved("before")
    await settled(shop)
    read = await read_on(shop)
    async with shop.core.db.transaction() as early:
        await reserve(early, shop, "early")
        await shop.reserved("late", "fault", "removed")
        meanwhile = await read_on(shop, read[-1]["id"])
        # Committed, and yet not told: an event of the other may have to come before.
        assert meanwhile == []
    await settled(shop)
    read += await read_on(shop, read[-1]["id"])
    assert [event["data"]["external_order_id"] for event in read] == ["before", "early", *["late"] * 4]
    assert by_shipment(read) == await stored(shop)
    assert await read_on(shop) == read


async def test_nothing_ever_appears_before_what_was_read(shop: Shop) -> None:
    """Transactions that commit in another order than they began: each reading only continues the one before."""
    readings: list[list[str]] = []
    async with asyncio.timeout(SECONDS), AsyncExitStack() as stack:
        connections = [await stack.enter_async_context(shop.core.db.connection()) for _ in range(4)]
        for turn, order_of_commits in enumerate(itertools.islice(itertools.permutations(range(4)), 0, None, 8)):
            box = await shop.add_box()
            begun = [connection.transaction() for connection in connections]
            for number, (connection, transaction) in enumerate(zip(connections, begun, strict=True)):
                await transaction.start()
                await reserve(connection, shop, f"order-{turn}-{number}", box)
            for number in order_of_commits:
                readings.append(ids(await read_on(shop)))
                await begun[number].commit()
            await settled(shop)
            readings.append(ids(await read_on(shop)))
    assert len(readings[-1]) == 12
    for earlier, later in itertools.pairwise(readings):
        assert later[: len(earlier)] == earlier


async def test_a_shipment_keeps_its_order_when_an_older_transaction_moves_it_after_a_younger(shop: Shop) -> None:
    shipment_id = await shop.reserved("order-1")
    async with shop.core.db.transaction() as older:
        number = int(await older.fetchval("SELECT pg_current_xact_id()::text"))
        await shop.simulate(shipment_id, "fault")
        await move(older, shop, shipment_id, Trigger.REMOVE)
        assert "fault" not in (await page(shop)).text
    await settled(shop)
    told = await read_on(shop, limit=1)
    assert [event["type"] for event in told] == ["reserved", "fault", "removed", "door_available"]
    assert by_shipment(told) == await stored(shop)
    async with shop.core.db.connection() as connection:
        rows = await connection.fetch(
            "SELECT told_in::text::bigint AS told_in FROM events WHERE shipment_id = $1 ORDER BY sequence", shipment_id
        )
    reserved, fault, removed, door_available = (row["told_in"] for row in rows)
    # It is the case that was meant: the step after has the lower number of its own.
    assert reserved < number < fault == removed == door_available


async def test_whoever_reads_while_many_write_ends_with_every_event_once(shop: Shop) -> None:
    box = await shop.add_box(100)
    written = asyncio.Event()
    read: list[dict[str, Any]] = []

    async def write(writer: int) -> None:
        for number in range(8):
            order = f"order-{writer}-{number}"
            shipment_id = await shop.reserved(order, *("fault", "removed")[: number % 3], box_id=box)
            if number % 4 == 3:
                await shop.cancel(await shop.reserved(f"{order}-more", box_id=box))
            async with shop.core.db.transaction() as tx:
                await reserve(tx, shop, f"{order}-slow", box)
                await shop.read(shipment_id)

    async def follow() -> None:
        while True:
            last_turn = written.is_set()
            read.extend(await read_on(shop, read[-1]["id"] if read else None, limit=7))
            if last_turn:
                return

    async with asyncio.timeout(2 * SECONDS):
        reader = asyncio.create_task(follow())
        await asyncio.gather(*(write(writer) for writer in range(4)))
        await settled(shop)
        assert read, "the reader read while others wrote"
        written.set()
        await reader
    assert len(read) > 100
    assert len(set(ids(read))) == len(read)
    assert by_shipment(read) == await stored(shop)
    assert await read_on(shop) == read
