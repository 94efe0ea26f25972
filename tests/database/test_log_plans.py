"""Every page of a log is found by an index in the order that it is shown in, however long the past."""

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from asyncpg.connection import LoggedQuery

from pickupbox.database import audit_log, delivery_log, replay_jobs, requests
from pickupbox.database.audit_log import Wanted
from pickupbox.database.connection import Connection
from pickupbox.usecases.core import Core
from pickupbox.usecases.endpoints import add_endpoint
from tests.database.plans import databases, listening, nodes
from tests.support.shop import Shop

type Act = Callable[[Connection, str], Awaitable[Any]]

NOW = datetime(2031, 1, 1, tzinfo=UTC)
LAST = "~"

GROW = """
    INSERT INTO tenants (id, name) SELECT 'ten_' || n, 'Shop' FROM generate_series(1, 100) AS n;
    INSERT INTO api_requests SELECT now() - n * interval '1 second', 'ten_' || n % 100, 'key_' || n % 200, 'req_' || n,
        'get_shipment', 'GET', '/v1/shipments/x', 200, NULL, 1.5, '127.0.0.1' FROM generate_series(1, 50000) AS n;
    INSERT INTO audit (at, tenant_id, id, actor, action, object, chain_number, chain_hash)
    SELECT now() - n * interval '1 minute', 'ten_' || n % 100, 'aud_' || n, 'key_1', 'pin.reveal', 'shp_' || n % 5000,
        n, '\\x00' FROM generate_series(1, 50000) AS n;
    INSERT INTO webhook_attempts SELECT now() - n * interval '1 second', 'ten_' || n % 100, 'whe_' || n % 200,
        'shp_' || n, 1, 'evt_' || n, 'loaded', 1, 'accepted', 200, NULL, 5, '' FROM generate_series(1, 50000) AS n;
    INSERT INTO webhook_lanes SELECT 'ten_' || n % 100, 'whe_' || n % 200, 'shp_' || n, now(), '{1}', 0,
        now() + n * interval '1 s' FROM generate_series(1, 20000) AS n;
    INSERT INTO replay_jobs (tenant_id, id, endpoint_id, since, actor, told_in, shipment_id, sequence, finished_at)
    SELECT 'ten_' || n % 100, 'rpl_' || n, 'whe_' || n % 200, now(), 'x', '1', '', 0, now()
    FROM generate_series(1, 20000) AS n;
    ANALYZE;
"""


async def seed(shop: Shop) -> None:
    await add_endpoint(shop.core, shop.caller, "https://shop.example", "", None)
    await shop.reserved("A")


settings, core, app = databases(seed, GROW)


async def requests_page(connection: Connection, tenant: str) -> None:
    await requests.list_before(connection, tenant, requests.Place(NOW, LAST), 51, look=5000, key_id="key_1")


async def requests_end(connection: Connection, tenant: str) -> None:
    await requests.place_after(connection, tenant, requests.Place(NOW, LAST), 5000)


async def requests_by_id(connection: Connection, tenant: str) -> None:
    await requests.find(connection, tenant, "req_1", 50)


async def attempts_page(connection: Connection, tenant: str) -> None:
    await delivery_log.list_before(connection, tenant, "whe_1", delivery_log.Place(NOW, LAST), 51, look=5000)


async def attempts_end(connection: Connection, _: str) -> None:
    await delivery_log.place_after(connection, "whe_1", delivery_log.Place(NOW, LAST), 5000)


async def attempts_of_event(connection: Connection, tenant: str) -> None:
    await delivery_log.list_of_event(connection, tenant, "shp_1", "evt_1", 100)


async def latest_attempts(connection: Connection, tenant: str) -> None:
    await delivery_log.latest(connection, tenant, ["whe_1", "whe_2"])


async def backlogs(connection: Connection, tenant: str) -> None:
    await delivery_log.backlogs(connection, tenant, ["whe_1", "whe_2"], 1001)


async def what_waits(connection: Connection, tenant: str) -> None:
    await delivery_log.list_waiting(connection, tenant, "shp_1", 1)


async def event(connection: Connection, tenant: str) -> None:
    await delivery_log.find_event(connection, tenant, "evt_1")


async def audit_page(connection: Connection, tenant: str) -> None:
    await audit_log.list_before(connection, tenant, None, Wanted(action="pin"), "aud`", "aud_", 51, 5000)


async def audit_end(connection: Connection, tenant: str) -> None:
    await audit_log.id_after(connection, tenant, "aud`", "aud_", 5000)


async def audit_of_object(connection: Connection, tenant: str) -> None:
    await audit_log.list_before(connection, tenant, "shp_1", Wanted(), "aud`", "aud_", 51, 5000)


async def links(connection: Connection, tenant: str) -> None:
    await audit_log.links_after(connection, tenant, 5, 1000)


async def replay_turn(connection: Connection, _: str) -> None:
    await replay_jobs.take_turn(connection)


async def newest_replay(connection: Connection, tenant: str) -> None:
    await replay_jobs.newest_of(connection, tenant, "whe_1")


async def replays_by_id(connection: Connection, tenant: str) -> None:
    await replay_jobs.find_many(connection, [(tenant, "rpl_1"), (tenant, "rpl_2")])


async def plan_with_values(connection: Connection, query: LoggedQuery) -> list[dict[str, Any]]:
    """The generic plan as it is run: with values that leave out no partition."""
    await connection.execute(f"PREPARE asked AS {query.query}")
    try:
        values = ", ".join(map(_literal, query.args))
        text = await connection.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE asked{f'({values})' if values else ''}")
    finally:
        await connection.execute("DEALLOCATE asked")
    return list(nodes(orjson.loads(text)[0]["Plan"]))


def _literal(value: object) -> str:
    match value:
        case None | int():
            return str(value or "NULL")
        case list():
            return f"ARRAY[{', '.join(map(_literal, value))}]"
        case _:
            return f"'{value}'"


# The columns by which the index is entered, and the table's index.
EXPECTED: list[tuple[Act, str, set[str]]] = [
    (requests_page, "api_requests", {"tenant_id_at_request_id_idx"}),
    (requests_end, "api_requests", {"tenant_id_at_request_id_idx"}),
    (requests_by_id, "api_requests", {"expr_at_idx"}),
    (attempts_page, "webhook_attempts", {"endpoint_id_at_idx"}),
    (attempts_end, "webhook_attempts", {"endpoint_id_at_idx"}),
    (attempts_of_event, "webhook_attempts", {"shipment_id_idx"}),
    (latest_attempts, "webhook_attempts", {"endpoint_id_at_idx"}),
    (backlogs, "webhook_lanes", {"due"}),
    (what_waits, "webhook_lanes", {"pkey"}),
    (event, "events", {"id_idx"}),
    (audit_page, "audit", {"tenant_id_id_idx", "listed"}),
    (audit_end, "audit", {"tenant_id_id_idx", "listed"}),
    (audit_of_object, "audit", {"object_tenant_id_id_idx", "object"}),
    (links, "audit", {"tenant_id_chain_number_idx"}),
    (replay_turn, "replay_jobs", {"open"}),
    (newest_replay, "replay_jobs", {"endpoint"}),
    (replays_by_id, "replay_jobs", {"pkey"}),
]
SORTED_AFTERWARDS = {attempts_page, attempts_of_event}  # at most as many as were looked at


@pytest.mark.parametrize(("act", "table", "expected"), EXPECTED, ids=[act.__name__ for act, _, _ in EXPECTED])
async def test_a_statement_of_the_logs_walks_the_index_that_was_made_for_it(
    shop: Shop, core: Core, act: Act, table: str, expected: set[str]
) -> None:
    async with core.db.transaction() as connection:
        async with listening(connection) as asked:
            await act(connection, shop.tenant)
        (query,) = [one for one in asked if "SELECT" in one.query]
        plan = await plan_with_values(connection, query)
    assert [node["Relation Name"] for node in plan if node["Node Type"] == "Seq Scan"] == []
    used = {
        re.sub(rf"^{table}(_\d{{8}}|_default)?_", "", node["Index Name"])
        for node in plan
        if str(node.get("Index Name", "")).startswith(table)
    }
    assert used
    assert used <= expected
    for node in plan:
        if "Index Name" in node and act is not replay_turn:
            assert "Index Cond" in node, f"all of {node['Index Name']} is read"
    if act not in SORTED_AFTERWARDS:
        assert not {"Sort", "Incremental Sort"} & {node["Node Type"] for node in plan}
