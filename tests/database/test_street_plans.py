"""What the pages of boxes and removals ask finds its rows by an index, whatever has grown."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from pickupbox.database import box_pages, boxes, door_reports, removal_pages, removals
from pickupbox.database.connection import Connection
from pickupbox.database.door_reports import Report
from pickupbox.usecases.core import Core
from tests.database.plans import assert_only_indexes, databases, listening, plan_of
from tests.support.shop import Shop

# 5,000 boxes of one tenant, a long past of shipments and reports, and some that await removal.
GROW = """
    INSERT INTO boxes SELECT (jsonb_populate_record(b, jsonb_build_object('id', 'box_' || n, 'name', 'Box ' || n))).*
    FROM boxes b, generate_series(1, 5000) AS n;
    INSERT INTO compartments SELECT tenant_id, 'box_' || n, code, position
    FROM compartments, generate_series(1, 5000) AS n;
    INSERT INTO shipments SELECT (jsonb_populate_record(s, jsonb_build_object('id', 'shp_' || n,
        'external_order_id', 'old-' || n))).* FROM shipments s, generate_series(1, 10000) AS n
        WHERE s.released_at IS NOT NULL;
    INSERT INTO devices (tenant_id, id, box_id) SELECT tenant_id, 'dev_' || id, id FROM boxes WHERE id LIKE 'box\\_%'
        AND id NOT LIKE 'box\\_c1%';
    INSERT INTO doors SELECT tenant_id, box_id, code, false FROM compartments;
    INSERT INTO removals (tenant_id, shipment_id) SELECT tenant_id, id FROM shipments;
    INSERT INTO door_reports SELECT now(), tenant_id, id, 'dev_' || id, 'boot', n, now(), 'door_opened', 'A1'
        FROM boxes, generate_series(1, 10) AS n;
    ANALYZE;
"""


async def seed(shop: Shop) -> None:
    await shop.reserved("A", "expired")
    await shop.reserved("B", "fault")


settings, core, app = databases(seed, GROW)

type Act = Callable[[Connection, str, str], Awaitable[Any]]


async def first_page(connection: Connection, tenant: str, _: str) -> None:
    await box_pages.list_page(connection, tenant, None)


async def needy_page(connection: Connection, tenant: str, _: str) -> None:
    await box_pages.list_page(connection, tenant, box_pages.Cursor("B", "x"), only="hand")


async def cabinets(connection: Connection, tenant: str, box_id: str) -> None:
    await box_pages.read_doors(connection, [(tenant, box_id)])
    await box_pages.read_pulses(connection, [(tenant, box_id)])


async def newest_reports(connection: Connection, tenant: str, box_id: str) -> None:
    await door_reports.list_newest(connection, [(tenant, box_id)])


async def keep_report(connection: Connection, tenant: str, box_id: str) -> None:
    report = Report(tenant, box_id, "dev", "boot", 1, datetime.now(UTC), "started", None, None, None, None, None)
    await door_reports.insert(connection, [report])


async def awaiting(connection: Connection, tenant: str, _: str) -> None:
    await removal_pages.list_awaiting(connection, tenant, None)


async def one_removal(connection: Connection, tenant: str, _: str) -> None:
    await removal_pages.read_views(connection, [(tenant, "shp_1")])


async def void(connection: Connection, tenant: str, _: str) -> None:
    await removals.void(connection, tenant, "shp_1")


async def setup(connection: Connection, tenant: str, box_id: str) -> None:
    found = await boxes.lock_setup(connection, tenant, box_id)
    assert found is not None
    await boxes.save_setup(connection, tenant, box_id, found)
    await boxes.read(connection, tenant, box_id)


COUNTED = {"compartments_pkey", "shipments_pkey", "devices_live"}
EVENTS = "events"
EXPECTED: list[tuple[Act, list[set[str]]]] = [
    (first_page, [{"boxes_by_name", *COUNTED}]),
    (needy_page, [{"shipments_held", "compartments_out_of_service", "boxes_pkey", *COUNTED}]),
    (cabinets, [{"compartments_pkey", "doors_pkey", "shipments_pkey", "devices_live"}, {"boxes_pkey", "devices_live"}]),
    (newest_reports, [{"door_reports"}]),
    (keep_report, [set()]),
    (awaiting, [{"shipments_held", "boxes_pkey", "removals_pkey"}]),
    (one_removal, [{*COUNTED, "boxes_pkey", "doors_pkey", "removals_pkey", "door_commands_pkey", "events"}]),
    (void, [{"removals_pkey"}]),
    (setup, [{"boxes_pkey"}] * 3),
]


@pytest.mark.parametrize(("act", "expected"), EXPECTED, ids=[act.__name__ for act, _ in EXPECTED])
async def test_a_page_of_the_street_uses_the_index_that_was_made_for_it(
    shop: Shop, core: Core, act: Act, expected: list[set[str]]
) -> None:
    async with core.db.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        async with listening(connection) as asked:
            await act(connection, shop.tenant, shop.box_id)
        plans = [await plan_of(connection, query) for query in asked]
        await transaction.rollback()
    for plan in plans:
        assert_only_indexes(plan)
        assert not {"Hash Join", "Merge Join"} & {node["Node Type"] for node in plan}
        # The longest waiting come in the index's own order, however many wait.
        assert act is not awaiting or "Sort" not in {node["Node Type"] for node in plan}
    found = [{_family(node["Index Name"]) for node in plan if "Index Name" in node} for plan in plans]
    assert [{"boxes_pkey" if name == "boxes_id_key" else name for name in names} for names in found] == expected


def _family(index: str) -> str:
    """The index of a partition by its table: partitions name theirs by the day."""
    return next((table for table in ("door_reports", "events") if index.startswith(f"{table}_")), index)
