"""Time partitions: made ahead, one after the other, and no row is ever without a place."""

import asyncio
import time
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from pickupbox.database import partitions
from pickupbox.database.partitions import PARTITIONED, Creation, Partitioned, bounds, name_of, too_old
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from pickupbox.usecases.partitions import keep_partitions
from tests.support.shop import Shop

EVENTS, _, ATTEMPTS, *_ = PARTITIONED
MOMENTS = st.datetimes(min_value=datetime(2024, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - Hypothesis adds the zone


@given(MOMENTS, st.sampled_from(PARTITIONED))
def test_the_current_partition_holds_now_and_the_next_begins_where_it_ends(now: datetime, of: Partitioned) -> None:
    first, end = bounds(of, now, 0)
    assert first <= now.date() < end
    assert (end - first).days == of.days
    assert bounds(of, now, 1)[0] == end


def test_days_are_days_in_utc() -> None:
    """One o'clock in Berlin's summer is still the day before."""
    now = datetime(2031, 7, 2, 1, 0, tzinfo=timezone(timedelta(hours=2)))
    assert bounds(Partitioned("events", 1, 1), now, 0)[0] == date(2031, 7, 1)


async def test_every_table_has_its_partitions_ready_ahead(core: Core) -> None:
    async with core.db.connection() as connection:
        now = await partitions.now(connection)
        for of in PARTITIONED:
            wanted = {name_of(of.table, bounds(of, now, number)[0]) for number in range(of.ahead + 1)}
            assert wanted <= await partitions.existing(connection, of.table)
    assert {(of.table, of.days, of.keep) for of in PARTITIONED} == {
        ("events", 7, None),
        ("audit", 28, None),
        ("webhook_attempts", 1, 30),
        ("set_aside", 1, 30),
        ("api_requests", 1, 7),
        ("door_reports", 1, 30),
        ("figures", 28, 400),
    }


async def test_events_lie_in_the_partition_of_their_shipments_week(shop: Shop, core: Core) -> None:
    shipment = await shop.reserved("A", "loaded", "picked_up")
    async with core.db.connection() as connection:
        rows = await connection.fetch(
            "SELECT tableoid::regclass::text AS home, shipment_created_at FROM events WHERE shipment_id = $1", shipment
        )
    assert len(rows) == 3
    week, _ = bounds(EVENTS, rows[0]["shipment_created_at"], 0)
    assert {row["home"] for row in rows} == {name_of("events", week)}


async def test_missing_partitions_are_made_once(core: Core, raw: Any) -> None:
    async with core.db.connection() as connection:
        last = bounds(EVENTS, await partitions.now(connection), EVENTS.ahead)
        await connection.execute(f"DROP TABLE {name_of('events', last[0])}")
    assert await keep_partitions(core) == 1
    assert await keep_partitions(core) == 0
    limits = await raw.fetchval(
        "SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname = $1", name_of("events", last[0])
    )
    assert limits == f"FOR VALUES FROM ('{last[0]} 00:00:00+00') TO ('{last[1]} 00:00:00+00')"


@pytest.mark.parametrize("of", PARTITIONED, ids=lambda of: of.table)
async def test_a_partition_that_is_made_later_is_like_those_of_the_migration(
    core: Core, raw: Any, of: Partitioned
) -> None:
    first, end = bounds(of, datetime(2090, 1, 1, tzinfo=UTC), 0)
    assert await partitions.create(raw, of.table, first, end) is Creation.MADE
    shape = """
        SELECT array_agg(pg_get_indexdef(i.indexrelid) ORDER BY 1) FILTER (WHERE h.inhparent IS NOT NULL),
            count(*) FILTER (WHERE h.inhparent IS NULL)
        FROM pg_index i LEFT JOIN pg_inherits h ON h.inhrelid = i.indexrelid WHERE i.indrelid = $1::text::regclass
    """
    made, default = [await raw.fetchrow(shape, name) for name in (name_of(of.table, first), f"{of.table}_default")]
    await raw.execute(f"DROP TABLE {name_of(of.table, first)}")
    assert made[1] == default[1] == 0, "an index that is not part of the table's own"
    assert len(made[0]) == len(default[0])


async def test_nobody_waits_behind_a_partition_that_waits_for_a_long_reader(core: Core, shop: Shop) -> None:
    async with core.db.connection() as connection:
        first, _ = bounds(EVENTS, await partitions.now(connection), EVENTS.ahead)
        await connection.execute(f"DROP TABLE {name_of('events', first)}")
    async with core.db.transaction() as reader:
        await reader.execute("SELECT count(*) FROM events")
        making = asyncio.create_task(keep_partitions(core))
        await asyncio.sleep(0.1)
        began = time.monotonic()
        await shop.reserved("A")
        assert time.monotonic() - began < 1
        with capture_logs() as logs:
            assert await making == 0
    assert [line["event"] for line in logs] == ["partition_waits"]
    assert await keep_partitions(core) == 1


async def test_workers_side_by_side_make_a_missing_partition_without_an_error(core: Core) -> None:
    for _ in range(5):
        async with core.db.connection() as connection:
            now = await partitions.now(connection)
            for number in (1, 2):
                await connection.execute(f"DROP TABLE {name_of('events', bounds(EVENTS, now, number)[0])}")
        made = await asyncio.gather(*(keep_partitions(core) for _ in range(3)), return_exceptions=True)
        await keep_partitions(core)
        assert [one for one in made if isinstance(one, BaseException)] == []


async def test_a_partition_that_comes_too_late_leaves_rows_in_the_default_one_and_is_reported(
    shop: Shop, core: Core, settings: Settings
) -> None:
    async with core.db.connection() as connection:
        of = EVENTS
        first, _ = bounds(of, await partitions.now(connection), of.ahead)
        await connection.execute(f"DROP TABLE {name_of('events', first)}")
        shipment = await shop.reserved("A")
        await connection.execute(
            """
            INSERT INTO events SELECT $2, tenant_id, shipment_id, sequence, step, id, type, occurred_at, data
            FROM events WHERE shipment_id = $1
            """,
            shipment,
            datetime(first.year, first.month, first.day, 12, tzinfo=UTC),
        )
        home = "SELECT tableoid::regclass::text FROM events WHERE shipment_id = $1 ORDER BY shipment_created_at DESC"
        with capture_logs() as logs:
            assert await keep_partitions(core) == 0
        assert await connection.fetchval(home, shipment) == "events_default"
        warned = [(line["event"], line["table"], line["first_day"], line["log_level"]) for line in logs]
        assert warned == [("partition_came_too_late", "events", str(first), "warning")]
        await connection.execute("DELETE FROM events_default WHERE shipment_id = $1", shipment)
    assert await keep_partitions(core) == 1


async def test_a_partition_of_rows_that_lie_in_the_default_one_is_refused_by_postgresql(raw: Any, shop: Shop) -> None:
    """What the report above rests on: PostgreSQL never hides rows behind a new partition."""
    shipment = await shop.reserved("A")
    await raw.execute(
        """
        INSERT INTO events SELECT '2029-01-01 12:00+00', tenant_id, shipment_id, sequence, step, id, type, occurred_at,
            data FROM events WHERE shipment_id = $1
        """,
        shipment,
    )
    assert await partitions.create(raw, "events", date(2029, 1, 1), date(2029, 1, 2)) is Creation.TOO_LATE
    assert await partitions.create(raw, "events", date(2029, 1, 2), date(2029, 1, 3)) is Creation.MADE
    with pytest.raises(asyncpg.UndefinedTableError):
        await raw.execute("SELECT FROM events_20290101")


@given(MOMENTS, st.integers(0, 400))
def test_a_day_of_attempts_is_dropped_when_all_of_it_is_older_than_30_days_and_no_sooner(
    now: datetime, days_ago: int
) -> None:
    day = now.date() - timedelta(days=days_ago)
    youngest = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
    dropped = too_old(ATTEMPTS, {name_of("webhook_attempts", day)}, now)
    assert bool(dropped) == (days_ago > 30)
    assert not dropped or now - youngest >= timedelta(days=30)


def test_the_default_partition_and_what_has_no_date_are_never_dropped() -> None:
    names = {"webhook_attempts_default", "webhook_attempts", "webhook_attempts_2020", "events_20200101"}
    assert too_old(ATTEMPTS, names, datetime(2031, 1, 1, tzinfo=UTC)) == []


@pytest.mark.parametrize("of", [of for of in PARTITIONED if of.keep is None], ids=lambda of: of.table)
def test_events_and_the_audit_trail_are_never_dropped(of: Partitioned) -> None:
    assert too_old(of, {name_of(of.table, date(2024, 1, 1))}, datetime(2099, 1, 1, tzinfo=UTC)) == []


async def test_old_attempts_are_dropped_with_their_partition_and_all_else_stays(shop: Shop, core: Core) -> None:
    async with core.db.connection() as connection:
        now = await partitions.now(connection)
        days = {days: bounds(ATTEMPTS, now, -days)[0] for days in (30, 31, 400)}
        old_events = bounds(EVENTS, now, -60)
        assert await partitions.create(connection, "events", *old_events) is Creation.MADE
        for day in days.values():
            assert (
                await partitions.create(connection, "webhook_attempts", day, day + timedelta(days=1)) is Creation.MADE
            )
            await connection.execute(
                """
                INSERT INTO webhook_attempts SELECT $1, $2, 'whe_1', 'shp_1', 1, 'evt_1', 'loaded', 1, 'accepted', 200,
                    NULL, 5, ''
                """,
                datetime(day.year, day.month, day.day, 23, 59, tzinfo=UTC),
                shop.tenant,
            )
        with capture_logs() as logs:
            assert await keep_partitions(core) == 0
        attempts, events = [await partitions.existing(connection, table) for table in ("webhook_attempts", "events")]
        left = await connection.fetch("SELECT at::date FROM webhook_attempts WHERE tenant_id = $1", shop.tenant)
        await connection.execute(f"DROP TABLE {name_of('events', old_events[0])}")
    gone = {name_of("webhook_attempts", days[31]), name_of("webhook_attempts", days[400])}
    assert {line["partition"] for line in logs if line["event"] == "partition_dropped"} == gone
    assert not gone & attempts
    assert {"webhook_attempts_default", name_of("webhook_attempts", days[30])} <= attempts
    assert {"events_default", name_of("events", old_events[0])} <= events
    assert [row["at"] for row in left] == [days[30]]


async def test_a_partition_that_is_in_use_is_dropped_another_time(core: Core) -> None:
    async with core.db.connection() as connection:
        day = bounds(ATTEMPTS, await partitions.now(connection), -99)[0]
        await partitions.create(connection, "webhook_attempts", day, day + timedelta(days=1))
    name = name_of("webhook_attempts", day)
    async with core.db.connection() as connection:
        async with core.db.transaction() as tx:
            await tx.execute(f"LOCK TABLE {name} IN ACCESS SHARE MODE")
            assert await keep_partitions(core) == 0
        assert name in await partitions.existing(connection, "webhook_attempts")
        await keep_partitions(core)
        assert name not in await partitions.existing(connection, "webhook_attempts")
