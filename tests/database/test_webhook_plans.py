"""Every statement of delivery and replay finds its rows by an index, however much waits and however long the past."""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from pickupbox.database import attempts, endpoints, failures, lanes, replays
from pickupbox.database.connection import Connection
from pickupbox.database.failures import Failed
from pickupbox.database.lanes import Wish
from pickupbox.database.partitions import PARTITIONED, bounds, name_of
from pickupbox.usecases.core import Core
from pickupbox.usecases.endpoints import add_endpoint
from pickupbox.webhooks.schedule import BACK_OFF
from tests.database.plans import assert_only_indexes, databases, listening, plan_of
from tests.support.shop import Shop

type Act = Callable[[Connection, Shop, str], Awaitable[Any]]

# Many endpoints with lanes, one of them dead for long; a long past of events and attempts.
GROW = """
    INSERT INTO webhook_endpoints (tenant_id, id, slot, url, description, secret_id, secret_sealed, removed_at)
    SELECT tenant_id, 'whe_' || n, 1, url, '', secret_id, secret_sealed, now()
    FROM webhook_endpoints, generate_series(1, 2000) AS n;
    INSERT INTO webhook_lanes SELECT tenant_id, 'whe_' || n % 2000, 'shp_' || n, shipment_created_at, waiting, 0,
        now() + n * interval '1 s' FROM webhook_lanes, generate_series(1, 10000) AS n;
    INSERT INTO webhook_lanes SELECT l.tenant_id, e.id, 'shp_dead_' || n, shipment_created_at, waiting, 9, now()
    FROM webhook_lanes l, webhook_endpoints e, generate_series(1, 20000) AS n
    WHERE l.attempts = 0 AND l.shipment_id LIKE 'shp_c1%' AND e.removed_at IS NULL;
    INSERT INTO webhook_failures (endpoint_id, failures) SELECT 'whe_' || n, 9 FROM generate_series(1, 1000) AS n;
    ALTER TABLE events DROP CONSTRAINT events_tenant_id_shipment_id_fkey;
    INSERT INTO events SELECT (jsonb_populate_record(v, jsonb_build_object('id', 'evt_' || n, 'shipment_id',
        'shp_' || n))).* FROM events v, generate_series(1, 20000) AS n;
    INSERT INTO webhook_attempts SELECT now(), tenant_id, 'whe_' || n % 50, 'shp_' || n, 1, 'evt_' || n, 'loaded', 1,
        'accepted', 200, NULL, 5, '' FROM webhook_lanes, generate_series(1, 5) AS n;
    ANALYZE;
"""


async def seed(shop: Shop) -> None:
    await add_endpoint(shop.core, shop.caller, "https://shop.example", "", None)
    await shop.reserved("A")


settings, core, app = databases(seed, GROW)


async def turns(connection: Connection, _: Shop, __: str) -> None:
    await lanes.turns(connection, "", 500)


async def claim(connection: Connection, _: Shop, endpoint: str) -> None:
    await lanes.claim(connection, [Wish(endpoint, 4, probe=False), Wish("whe_2", 1, probe=True)])


async def give_back(connection: Connection, _: Shop, __: str) -> None:
    await lanes.give_back(connection, [])


async def make_due(connection: Connection, shop: Shop, endpoint: str) -> None:
    await lanes.make_due(connection, shop.tenant, endpoint, 1000)


async def note(connection: Connection, _: Shop, endpoint: str) -> None:
    await failures.note(connection, [Failed(endpoint, 1, None)], BACK_OFF)


async def forget(connection: Connection, _: Shop, endpoint: str) -> None:
    await failures.forget(connection, [endpoint])


async def put_back(connection: Connection, shop: Shop, endpoint: str) -> None:
    await replays.put_back(connection, shop.tenant, endpoint, "evt_1")


async def put_page_back(connection: Connection, shop: Shop, endpoint: str) -> None:
    since = datetime(2024, 1, 1, tzinfo=UTC)
    await replays.put_page_back(connection, shop.tenant, endpoint, since, replays.NEWEST, 1000)


async def list_latest(connection: Connection, shop: Shop, endpoint: str) -> None:
    await attempts.list_latest(connection, shop.tenant, endpoint, 20)


async def find(connection: Connection, shop: Shop, endpoint: str) -> None:
    await endpoints.find(connection, shop.tenant, endpoint)


def used(plan: list[dict[str, Any]]) -> dict[str, set[str]]:
    """The indexes of a plan by table, a partition's own under the name of the table."""
    found: dict[str, set[str]] = {}
    for node in plan:
        if name := node.get("Index Name"):
            table = re.sub(r"_(\d{8}|default|pkey)$", "", node.get("Relation Name", name))
            found.setdefault(table, set()).add(re.sub(r"_(\d{8}|default)_", "_", name))
    return found


FAILURE = {"webhook_failures": {"webhook_failures_pkey"}}
EXPECTED: list[tuple[Act, dict[str, set[str]]]] = [
    (turns, FAILURE | {"webhook_lanes": {"webhook_lanes_due"}, "webhook_endpoints": {"webhook_endpoints_pkey"}}),
    (note, {}),
    (forget, FAILURE),
]


@pytest.mark.parametrize(("act", "expected"), EXPECTED, ids=[act.__name__ for act, _ in EXPECTED])
async def test_a_statement_of_delivery_uses_the_index_that_was_made_for_it(
    shop: Shop, core: Core, act: Act, expected: dict[str, set[str]]
) -> None:
    plan = await plan_for(shop, core, act)
    assert_only_indexes(plan)
    assert used(plan) == expected


async def plan_for(shop: Shop, core: Core, act: Act) -> list[dict[str, Any]]:
    endpoint = (await add_endpoint(core, shop.caller, "https://shop.example", "", None)).id
    await shop.reserved("A")
    async with core.db.connection() as connection:
        async with listening(connection) as asked:
            await act(connection, shop, endpoint)
        (query,) = asked
        return await plan_of(connection, query)


@pytest.mark.parametrize(
    "act", [claim, make_due, put_back, put_page_back, list_latest, find], ids=lambda act: act.__name__
)
async def test_a_statement_of_delivery_or_replay_reads_by_indexes_only(shop: Shop, core: Core, act: Act) -> None:
    plan = await plan_for(shop, core, act)
    assert_only_indexes(plan)
    assert used(plan)
    assert not {"Hash Join", "Merge Join"} & {node["Node Type"] for node in plan}


async def test_a_claim_takes_lanes_by_their_time_and_each_event_by_its_whole_key(shop: Shop, core: Core) -> None:
    """Not all events of the tenant: there may be millions of them in a day."""
    plan = await plan_for(shop, core, claim)
    assert used(plan)["webhook_lanes"] == {"webhook_lanes_due", "webhook_lanes_pkey"}
    current = name_of("events", bounds(PARTITIONED[0], datetime.now(UTC), 0)[0])
    (search,) = [node for node in plan if node.get("Relation Name") == current]
    assert search["Index Name"] == f"{current}_pkey"
    for column in ("shipment_id", "tenant_id", "sequence", "shipment_created_at"):
        assert f"({column} = " in search["Index Cond"]


async def settle(connection: Connection, _: Shop, endpoint: str) -> None:
    await lanes.settle_many(connection, [])


@pytest.mark.parametrize("act", [settle, give_back], ids=lambda act: act.__name__)
async def test_a_lane_is_settled_or_given_back_by_its_key_or_by_its_lease(shop: Shop, core: Core, act: Act) -> None:
    plan = await plan_for(shop, core, act)
    assert_only_indexes(plan)
    found = used(plan)
    assert set(found) == {"webhook_lanes"}
    assert found["webhook_lanes"] <= {"webhook_lanes_pkey", "webhook_lanes_due"}
    for node in plan:
        if node.get("Index Name") == "webhook_lanes_due":
            assert "(due_at = " in node["Index Cond"], "all lanes of an endpoint are read"
        if node.get("Index Name") == "webhook_lanes_pkey":
            assert "(shipment_id = " in node["Index Cond"]


async def test_a_page_of_a_replay_is_read_backwards_in_the_index_without_sorting_the_past(
    shop: Shop, core: Core
) -> None:
    plan = await plan_for(shop, core, put_page_back)
    scans = [node for node in plan if node.get("Relation Name", "").startswith("events")]
    assert scans
    assert {node["Scan Direction"] for node in scans} == {"Backward"}
    assert used(plan)["events"] == {"events_tenant_id_told_in_shipment_id_sequence_idx"}
