"""Figures by the hour: every event counted once, in whatever order commits and workers come."""

import asyncio
import random
from datetime import UTC, datetime, timedelta

from pickupbox.database import figures
from pickupbox.database.figures import Hour
from pickupbox.usecases.core import Core
from pickupbox.usecases.figures import add_tenants, catch_up, count_figures, fill, read_figures
from tests.api.feeds import settled
from tests.support.databases import elapse
from tests.support.journeys import journeys, travel
from tests.support.shop import Shop

FIRST = datetime(2031, 1, 1, tzinfo=UTC)


async def today(shop: Shop) -> Hour:
    return (await read_figures(shop.core, [shop.tenant], 1, datetime.now(UTC)))[shop.tenant][-1]


async def day(shop: Shop) -> list[Hour]:
    return (await read_figures(shop.core, [shop.tenant], 48, datetime.now(UTC)))[shop.tenant]


def sums(hours: list[Hour]) -> tuple[int, int, int, int, int, int]:
    names = ("reserved", "loaded", "picked_up", "expired", "cancelled", "fault")
    one, two, three, four, five, six = (sum(getattr(hour, name) for hour in hours) for name in names)
    return one, two, three, four, five, six


async def count_all(shop: Shop) -> None:
    """Count what is new, all of it."""
    await settled(shop)
    await catch_up(shop.core, [shop.tenant])


async def told(shop: Shop) -> dict[str, int]:
    """The same by a plain count."""
    async with shop.core.db.connection() as connection:
        rows = await connection.fetch(
            "SELECT type, count(*)::int FROM events WHERE tenant_id = $1 GROUP BY type", shop.tenant
        )
    return {row["type"]: row["count"] for row in rows}


async def test_whoever_looks_sees_what_has_happened_until_now(shop: Shop) -> None:
    await shop.reserved("A", "loaded", "picked_up", "door_available")
    await shop.reserved("B", "loaded", "fault")
    await shop.reserved("C")
    await count_all(shop)
    hours = await day(shop)
    assert sums(hours) == (3, 1, 1, 0, 0, 1)
    assert hours[-1].in_use == 2


async def test_counting_again_counts_nothing_twice(shop: Shop) -> None:
    await shop.reserved("A", "expired")
    for _ in range(3):
        await count_all(shop)
    assert sums(await day(shop)) == (1, 0, 0, 1, 0, 0)


async def test_another_tenants_events_are_not_counted(shop: Shop, other_shop: Shop) -> None:
    await other_shop.reserved("A")
    await count_all(shop)
    await count_all(other_shop)
    assert sums(await day(shop)) == (0, 0, 0, 0, 0, 0)
    assert sums(await day(other_shop)) == (1, 0, 0, 0, 0, 0)


async def test_an_event_counts_in_the_hour_in_which_it_happened(shop: Shop) -> None:
    early = await shop.reserved("A")
    await elapse(shop.core, early, 26 * 3600)
    await shop.reserved("B", "expired")
    await count_all(shop)
    hours = await day(shop)
    (before,) = [number for number, hour in enumerate(hours) if hour.reserved and number < 40]
    assert 20 <= before <= 22
    assert [hour.in_use for hour in hours] == [0] * before + [1] * (48 - before)


async def test_an_event_of_a_transaction_that_commits_late_is_not_passed_over(shop: Shop) -> None:
    """Its number is lower than that of an event that was there before it."""
    core = shop.core
    async with core.db.transaction() as slow:
        # Takes its number now, and tells its event at the end.
        await slow.fetchval("SELECT pg_current_xact_id()")
        await shop.reserved("A")
        await catch_up(core, [shop.tenant])
        assert sums(await day(shop)) == (0, 0, 0, 0, 0, 0)
    await shop.reserved("B")
    await count_all(shop)
    assert sums(await day(shop)) == (2, 0, 0, 0, 0, 0)


async def test_workers_and_viewers_at_once_count_each_event_once_while_shipments_travel(shop: Shop) -> None:
    core, over = shop.core, asyncio.Event()
    chance = random.Random(6)  # noqa: S311 - journeys, not secrets
    box = await shop.add_box(compartments=60)
    await add_tenants(core)

    async def count() -> None:
        while not over.is_set():
            await count_figures(core)
            await catch_up(core, [shop.tenant])
            await asyncio.sleep(0.005)

    async with asyncio.TaskGroup() as counting:
        for _ in range(3):
            counting.create_task(count())
        async with asyncio.TaskGroup() as travelling:
            for number, steps in enumerate(journeys(150, chance)):
                travelling.create_task(travel(core, shop.tenant, box, f"order-{number}", steps, chance, 0.02))
        over.set()
    await count_all(shop)
    counted = dict(
        zip(("reserved", "loaded", "picked_up", "expired", "cancelled", "fault"), sums(await day(shop)), strict=True)
    )
    expected = await told(shop)
    assert expected["reserved"] > 30
    assert counted == {name: expected.get(name, 0) for name in counted}
    assert (await today(shop)).in_use == expected["reserved"] - expected["door_available"]


async def test_a_long_feed_is_counted_in_bounded_batches(shop: Shop) -> None:
    for number in range(4):
        await shop.reserved(f"order-{number}", "expired")
    core, counted = shop.core, []
    await settled(shop)
    await add_tenants(core)
    for _ in range(5):
        async with core.db.transaction() as tx:
            assert await figures.lock_these(tx, [shop.tenant])
            counted.append(await figures.count(tx, [shop.tenant], 5))
    assert counted == [5, 5, 2, 0, 0]
    assert sums(await day(shop)) == (4, 0, 0, 4, 0, 0)


async def test_a_quiet_tenant_is_looked_at_less_and_less_often(shop: Shop) -> None:
    core, pauses = shop.core, []
    for _ in range(8):
        await catch_up(core, [shop.tenant])
        async with core.db.connection() as connection:
            pauses.append(
                await connection.fetchval("SELECT pause_seconds FROM figure_places WHERE tenant_id = $1", shop.tenant)
            )
    assert pauses == [10, 20, 40, 80, 160, 320, 600, 600]
    await shop.reserved("A")
    await count_all(shop)
    async with core.db.connection() as connection:
        pause = await connection.fetchval("SELECT pause_seconds FROM figure_places WHERE tenant_id = $1", shop.tenant)
    assert pause == 10


async def test_a_tenant_in_another_workers_hands_is_left_alone(core: Core, shop: Shop) -> None:
    await shop.reserved("A")
    await add_tenants(core)
    async with core.db.transaction() as tx:
        assert await figures.lock_these(tx, [shop.tenant])
        await catch_up(core, [shop.tenant])
        assert sums(await day(shop)) == (0, 0, 0, 0, 0, 0)


def test_what_was_in_use_stays_so_while_nothing_happens() -> None:
    third = Hour(FIRST + timedelta(hours=2), 2, 0, 0, 0, 0, 0, 1, 5)
    filled = fill([third], FIRST, 4, 9)
    assert [hour.in_use for hour in filled] == [4, 4, 5, 5]
    assert [hour.hour.hour for hour in filled] == [0, 1, 2, 3]
    assert [hour.in_use for hour in fill([], FIRST, 3, 9)] == [9, 9, 9]
