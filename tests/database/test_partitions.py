"""Time partitions: made ahead, one after the other, and no row is ever without a place."""

import asyncio
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from pickupbox.database import partitions
from pickupbox.database.partitions import PARTITIONED, Partitioned, bounds, name_of
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from pickupbox.usecases.partitions import keep_partitions
from tests.support.shop import Shop

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
    assert {(of.table, of.days) for of in PARTITIONED} == {("events", 1), ("audit", 28)}


async def test_events_lie_in_the_partition_of_their_shipments_day(shop: Shop, core: Core) -> None:
    shipment = await shop.reserved("A", "loaded", "picked_up")
    async with core.db.connection() as connection:
        rows = await connection.fetch(
            "SELECT tableoid::regclass::text AS home, shipment_created_at FROM events WHERE shipment_id = $1", shipment
        )
    assert len(rows) == 3
    assert {row["home"] for row in rows} == {f"events_{rows[0]['shipment_created_at']:%Y%m%d}"}


async def test_missing_partitions_are_made_once(core: Core, raw: Any) -> None:
    async with core.db.connection() as connection:
        last = bounds(PARTITIONED[0], await partitions.now(connection), PARTITIONED[0].ahead)
        await connection.execute(f"DROP TABLE {name_of('events', last[0])}")
    assert await keep_partitions(core) == 1
    assert await keep_partitions(core) == 0
    limits = await raw.fetchval(
        "SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname = $1", name_of("events", last[0])
    )
    assert limits == f"FOR VALUES FROM ('{last[0]} 00:00:00+00') TO ('{last[1]} 00:00:00+00')"


async def test_workers_side_by_side_make_a_missing_partition_without_an_error(core: Core) -> None:
    for _ in range(5):
        async with core.db.connection() as connection:
            now = await partitions.now(connection)
            for number in (12, 13, 14):
                await connection.execute(f"DROP TABLE {name_of('events', bounds(PARTITIONED[0], now, number)[0])}")
        made = await asyncio.gather(*(keep_partitions(core) for _ in range(3)), return_exceptions=True)
        await keep_partitions(core)
        assert [one for one in made if isinstance(one, BaseException)] == []


async def test_a_partition_that_comes_too_late_leaves_rows_in_the_default_one_and_is_reported(
    shop: Shop, core: Core, settings: Settings
) -> None:
    async with core.db.connection() as connection:
        of = PARTITIONED[0]
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
    assert await partitions.create(raw, "events", date(2029, 1, 1), date(2029, 1, 2)) is False
    assert await partitions.create(raw, "events", date(2029, 1, 2), date(2029, 1, 3)) is True
    with pytest.raises(asyncpg.UndefinedTableError):
        await raw.execute("SELECT FROM events_20290101")
