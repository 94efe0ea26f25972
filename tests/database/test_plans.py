"""Every statement that a shop or the clock causes finds its rows by an index, on what is live or by a key."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from asyncpg.connection import LoggedQuery

from pickupbox.database import audit, feed, reservations, retention, shipments, tenants
from pickupbox.database.connection import Connection
from pickupbox.domain.lifecycle import Trigger
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.reserve import Wish, reserve
from pickupbox.usecases.steps import prepare
from pickupbox.vault import Vault, new_secret, read_secrets
from tests.database.plans import assert_only_indexes, databases, indexes, listening, plan_of
from tests.support.shop import Shop

type Act = Callable[[Connection, Shop], Awaitable[Any]]

# A long history, many tenants, boxes and keys, made from one of each; every old shipment is finished.
GROW = """
    INSERT INTO tenants (id, name) SELECT 'ten_' || n, 'Shop' FROM generate_series(1, 500) AS n;
    INSERT INTO boxes SELECT (jsonb_populate_record(b, jsonb_build_object('id', 'box_' || n))).*
    FROM boxes b, generate_series(1, 500) AS n;
    INSERT INTO compartments SELECT tenant_id, 'box_' || n, code, position
    FROM compartments, generate_series(1, 500) AS n;
    INSERT INTO shipments SELECT (jsonb_populate_record(s, jsonb_build_object('id', 'shp_' || n,
        'external_order_id', 'old-' || n, 'released_at', s.released_at - n * interval '1 minute'))).*
    FROM shipments s, generate_series(1, 10000) AS n WHERE s.stage = 'expired';
    INSERT INTO events SELECT (jsonb_populate_record(e, jsonb_build_object('id', 'evt_' || n || '_' || e.sequence,
        'shipment_id', 'shp_' || n))).*
    FROM events e, generate_series(1, 10000) AS n;
    INSERT INTO api_keys SELECT (jsonb_populate_record(k, jsonb_build_object('id', 'key_' || n, 'name', 'n' || n,
        'hmac', sha256(n::text::bytea)))).*
    FROM api_keys k, generate_series(1, 3000) AS n;
    ANALYZE;
"""


async def seed(shop: Shop) -> None:
    await shop.reserved("A", "expired", customer_name="Ada")


settings, core, app = databases(seed, GROW)


async def read(connection: Connection, shop: Shop) -> None:
    await shipments.read_many(connection, [(shop.tenant, "shp_1"), (shop.tenant, "shp_2")])


async def lock(connection: Connection, shop: Shop) -> None:
    await shipments.lock(connection, shop.tenant, "shp_1")


async def lock_due(connection: Connection, _: Shop) -> None:
    await shipments.lock_due(connection, 500)


async def next_due_in(connection: Connection, _: Shop) -> None:
    await shipments.next_due_in(connection)


async def find_attempt(connection: Connection, shop: Shop) -> None:
    await shipments.find_attempt(connection, shop.tenant, "order-1", 1)


async def find_order(connection: Connection, shop: Shop) -> None:
    await shipments.find_order(connection, shop.tenant, "order-1")


async def wait_for_free(connection: Connection, shop: Shop) -> None:
    await reservations.wait_for_free(connection, shop.tenant, shop.box_id)


async def find_key_holders(connection: Connection, _: Shop) -> None:
    await tenants.find_key_holders(connection, [(b"one", b"under another secret")])


async def erase_names(connection: Connection, _: Shop) -> None:
    await retention.erase_names(connection, 30, 1000)


async def unsealed(connection: Connection, _: Shop) -> None:
    await audit.unsealed(connection, 1000)


# What each statement may use to find rows of a table that grows or is fought over.
EXPECTED: list[tuple[Act, dict[str, set[str]]]] = [
    (read, {"shipments": {"shipments_pkey"}}),
    (lock, {"shipments": {"shipments_pkey"}}),
    (lock_due, {"shipments": {"shipments_due_at"}}),
    (next_due_in, {"shipments": {"shipments_due_at"}}),
    (find_attempt, {"shipments": {"shipments_order"}}),
    (find_order, {"shipments": {"shipments_order"}}),
    (wait_for_free, {"compartments": {"compartments_free"}}),
    (find_key_holders, {"api_keys": {"api_keys_hmac_key"}}),
    (erase_names, {"shipments": {"shipments_named", "shipments_pkey"}}),
]


@pytest.mark.parametrize(("act", "expected"), EXPECTED, ids=[act.__name__ for act, _ in EXPECTED])
async def test_a_statement_finds_its_rows_by_the_index_that_was_made_for_it(
    shop: Shop, core: Core, act: Act, expected: dict[str, set[str]]
) -> None:
    async with core.db.connection() as connection:
        async with listening(connection) as asked:
            await act(connection, shop)
        (query,) = asked
        plan = await plan_of(connection, query)
    assert_only_indexes(plan)
    assert indexes(plan) == expected


async def test_sealing_looks_only_at_what_is_not_sealed(shop: Shop, core: Core) -> None:
    async with core.db.connection() as connection:
        async with listening(connection) as asked:
            await unsealed(connection, shop)
        plan = await plan_of(connection, asked[0])
    assert_only_indexes(plan)
    used = {name for names in indexes(plan).values() for name in names}
    assert used
    assert used <= await parts_of(core, "audit_unsealed")


async def parts_of(core: Core, index: str) -> set[str]:
    """Each partition's own copy of an index."""
    async with core.db.connection() as connection:
        parts = await connection.fetch(
            "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = $1::text::regclass", index
        )
    return {row["name"] for row in parts}


@pytest.mark.parametrize("after", [None, "evt_1"])
async def test_the_feed_walks_the_tenants_index_from_its_place_on_and_sorts_nothing(
    shop: Shop, core: Core, after: str | None
) -> None:
    async with core.db.connection() as connection:
        async with listening(connection) as asked:
            await feed.read_after(connection, shop.tenant, after, 101)
        (query,) = asked
        plan = await plan_of(connection, query)
    assert_only_indexes(plan)
    by_id, in_order = await parts_of(core, "events_id"), await parts_of(core, "events_feed")
    used = {name for names in indexes(plan).values() for name in names}
    assert used == by_id | in_order
    kinds = {node["Node Type"] for node in plan}
    assert "Merge Append" in kinds
    assert not [kind for kind in kinds if "Sort" in kind]
    # The place and the end are where the walk begins and ends, not what is left out on the way.
    walks = [node for node in plan if node.get("Index Name") in in_order]
    assert {node["Node Type"] for node in walks} == {"Index Scan"}
    for node in walks:
        assert "ROW(told_in, shipment_id, sequence) >" in node["Index Cond"]
        assert "pg_snapshot_xmin" in node["Index Cond"]
        assert "Filter" not in node


@pytest.mark.parametrize("orders", [1, 3])
async def test_reservations_are_one_statement_that_reads_by_indexes_only(shop: Shop, core: Core, orders: int) -> None:
    """During a rotation too, when it must also look for PINs under the other secret."""
    rotating = replace(core, vault=Vault([read_secrets(new_secret("k2"))[0], core.vault.current]))
    asked: list[LoggedQuery] = []

    insert_many = reservations.insert_many

    async def overheard(connection: Connection, questions: Sequence[reservations.Asked]) -> Any:
        async with listening(connection) as heard:
            made = await insert_many(connection, questions)
        asked.extend(heard)
        return made

    with pytest.MonkeyPatch.context() as between:
        between.setattr(reservations, "insert_many", overheard)
        wishes = [Wish(shop.box_id, f"order-{number}") for number in range(orders)]
        await asyncio.gather(*(reserve(rotating, Caller(shop.tenant, shop.key_id), wish) for wish in wishes))
    async with core.db.connection() as connection:
        plan = await plan_of(connection, asked[0])
    assert len(asked) == 1
    assert_only_indexes(plan)
    used = indexes(plan)
    assert used["compartments"] <= {"compartments_free", "compartments_pkey"}
    assert used["shipments"] == {"shipments_live_pin"}
    assert used["webhook_endpoints"] == {"webhook_endpoints_live"}
    assert used["rosters"] == {"rosters_pkey"}
    assert set(used) == {"compartments", "shipments", "webhook_endpoints", "rosters"}


async def test_a_step_is_one_statement_that_reads_by_indexes_only(shop: Shop, core: Core) -> None:
    shipment = await shop.reserved("A")
    async with core.db.transaction() as tx:
        locked = await shipments.lock(tx, shop.tenant, shipment)
        assert locked is not None
        async with listening(tx) as asked:
            await shipments.record(tx, [prepare(core, locked, Trigger.CANCEL)])
        (query,) = asked
        plan = await plan_of(tx, query)
    assert_only_indexes(plan)
    used = indexes(plan)
    assert used.pop("webhook_endpoints") == {"webhook_endpoints_live"}
    expected = {"shipments": "shipments_pkey", "compartments": "compartments_pkey", "rosters": "rosters_pkey"}
    assert used == {table: {index} for table, index in expected.items()}
