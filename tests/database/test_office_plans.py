"""Every statement of overview, lists and timelines is bounded by an index, on a new and on a grown database."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from pickupbox.database import attention, figures, shipment_lists, timelines
from pickupbox.database.connection import Connection
from pickupbox.domain.lifecycle import Stage
from pickupbox.usecases.core import Core
from pickupbox.usecases.read import read
from tests.database.plans import assert_only_indexes, databases, indexes, listening, plan_of
from tests.database.test_plans import GROW, parts_of
from tests.support.shop import Shop

type Act = Callable[[Connection, Shop], Awaitable[Any]]


async def seed(shop: Shop) -> None:
    await shop.reserved("A", "expired", customer_name="Ada")
    await shop.reserved("B", "loaded", "fault")


settings, core, app = databases(seed, GROW)


async def list_page(connection: Connection, shop: Shop) -> None:
    await shipment_lists.list_page(connection, shop.tenant, set(Stage), None, 50)


async def list_page_of_box(connection: Connection, shop: Shop) -> None:
    await shipment_lists.list_page_of_box(connection, shop.tenant, shop.box_id, set(Stage), None, 50)


async def held(connection: Connection, shop: Shop) -> None:
    await attention.list_held(connection, [shop.tenant])


async def offline(connection: Connection, shop: Shop) -> None:
    await attention.list_offline(connection, [shop.tenant])


async def silent(connection: Connection, shop: Shop) -> None:
    await attention.list_silent(connection, [shop.tenant])


async def open_doors(connection: Connection, shop: Shop) -> None:
    await attention.list_open_doors(connection, [shop.tenant])


async def failing(connection: Connection, shop: Shop) -> None:
    await attention.list_failing(connection, [shop.tenant])


async def marks(connection: Connection, shop: Shop) -> None:
    await timelines.read_marks(connection, [(shop.tenant, "shp_1")])


async def lock_due(connection: Connection, _: Shop) -> None:
    await figures.lock_due(connection, 50)


EXPECTED: list[tuple[Act, set[str]]] = [
    (list_page, {"shipments_listed", "shipments_pkey"}),
    (list_page_of_box, {"shipments_listed", "shipments_pkey"}),
    (held, {"shipments_held", "removals_pkey"}),
    (offline, {"devices_offline"}),
    (silent, {"devices_tenant"}),
    (open_doors, {"doors_open"}),
    (failing, {"webhook_endpoints_live", "webhook_failures_pkey"}),
    (marks, {"shipments_pkey", "doors_pkey", "door_commands_shipment", "webhook_lanes_pkey"}),
    (lock_due, {"figure_places_look_at"}),
]


@pytest.mark.parametrize(("act", "expected"), EXPECTED, ids=[act.__name__ for act, _ in EXPECTED])
async def test_a_statement_finds_its_rows_by_the_index_that_was_made_for_it(
    shop: Shop, core: Core, act: Act, expected: set[str]
) -> None:
    async with core.db.connection() as connection:
        async with listening(connection) as asked:
            await act(connection, shop)
        (query,) = asked
        plan = await plan_of(connection, query)
    assert_only_indexes(plan)
    assert {name for names in indexes(plan).values() for name in names} == expected


async def test_a_list_walks_each_stage_backwards_and_never_sorts_more_than_it_shows(shop: Shop, core: Core) -> None:
    async with core.db.connection() as connection:
        async with listening(connection) as asked:
            await list_page(connection, shop)
        plan = await plan_of(connection, asked[0])
    (walk,) = [node for node in plan if node.get("Index Name") == "shipments_listed"]
    assert walk["Scan Direction"] == "Backward"
    assert walk["Index Cond"] == "((stage = w.stage) AND (tenant_id = $1) AND (id < $2))"
    assert "Filter" not in walk
    above = plan[plan.index(walk) - 1]
    assert above["Node Type"] == "Limit"


async def test_figures_are_counted_from_the_place_on_in_the_order_of_the_feed(shop: Shop, core: Core) -> None:
    async with core.db.connection() as connection:
        await figures.add_these(connection, [shop.tenant])
        async with listening(connection) as asked:
            await figures.count(connection, [shop.tenant], 1000)
        plan = await plan_of(connection, asked[0])
    assert_only_indexes(plan)
    in_order = await parts_of(core, "events_feed")
    walks = [node for node in plan if node.get("Index Name") in in_order]
    assert {node["Index Name"] for node in walks} == in_order
    for node in walks:
        assert "ROW(told_in, shipment_id, sequence) >" in node["Index Cond"]
        assert "pg_snapshot_xmin" in node["Index Cond"]
        assert "Filter" not in node


async def test_the_overviews_hours_are_read_by_their_key(shop: Shop, core: Core) -> None:
    async with core.db.connection() as connection:
        async with listening(connection) as asked:
            await figures.read(connection, [shop.tenant], datetime.now(UTC))
        plan = await plan_of(connection, asked[0])
    assert_only_indexes(plan)


async def test_a_timeline_reads_each_table_by_the_shipments_own_index(shop: Shop, core: Core) -> None:
    shipment = await read(core, shop.tenant, await shop.reserved("C"))
    async with core.db.connection() as connection:
        async with listening(connection) as asked:
            await timelines.read(connection, shipment, None, 200)
        plan = await plan_of(connection, asked[0])
    assert [node["Relation Name"] for node in plan if node["Node Type"] == "Seq Scan"] == []
    used = {name for names in indexes(plan).values() for name in names}
    parts = {"door_commands_shipment", "shipments_pkey"}
    for index in ("events_pkey", "door_reports_shipment", "webhook_attempts_shipment", "audit_object"):
        parts |= await parts_of(core, index)
    assert used - parts == set()
    for node in plan:
        if node.get("Index Name"):
            assert "Index Cond" in node
