"""The street that is benchmarked: a database of its own with one tenant, many boxes, and any amount of history."""

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import asyncpg

from pickupbox.database import deployments, schema, tenants
from pickupbox.settings import Settings, database_url
from pickupbox.usecases.boxes import add_box, default_setup
from pickupbox.usecases.core import Caller, open_core
from pickupbox.usecases.partitions import keep_partitions
from pickupbox.usecases.tenants import add_tenant, issue_key
from pickupbox.vault import new_secret

BOXES = 200
COMPARTMENTS = 500
RATE = 1_000_000


@dataclass(frozen=True, slots=True)
class Street:
    settings: Settings
    tenant: str
    api_key: str
    boxes: list[str]


@contextmanager
def street(boxes: int = BOXES, compartments: int = COMPARTMENTS) -> Iterator[Street]:
    """A migrated and seeded database, dropped at the end."""
    server = database_url()
    name = f"pickupbox_bench_{secrets.token_hex(4)}"
    settings = Settings(
        database_url=schema.url_of(server, name), environment="sandbox", cell="bench", secrets=new_secret("bench")
    )
    asyncio.run(schema.create_database(server, name))
    try:
        schema.migrate(settings.database_url)
        yield asyncio.run(_seed(settings, boxes, compartments))
    finally:
        asyncio.run(schema.drop_database(server, name))


async def _seed(settings: Settings, count: int, compartments: int) -> Street:
    core = open_core(settings)
    async with core.db.connection() as connection:
        await deployments.declare(connection, deployments.Deployment("sandbox", "bench", None))
    await keep_partitions(core)
    tenant = await add_tenant(core, "Bench")
    async with core.db.connection() as connection:
        await tenants.set_rate(connection, tenant, RATE, RATE)
    boxes = [await add_box(core, tenant, default_setup(core, f"Box {n}"), compartments) for n in range(count)]
    key = await issue_key(core, Caller(tenant, "bench"), "bench")
    await core.db.close()
    if key is None:
        raise RuntimeError("no key was issued")
    return Street(settings, tenant, key.api_key, [box for box in boxes if box])


def run_sql(settings: Settings, *statements: str) -> object:
    """Run the statements; the first value of the last one."""

    async def run() -> object:
        connection = await asyncpg.connect(settings.database_url)
        # What is filled in or cleared is whole: to look up every reference of every row would only take long.
        await connection.execute("SET session_replication_role = replica")
        for statement in statements:
            value = await connection.fetchval(statement, timeout=1200)
        await connection.close()
        return value

    return asyncio.run(run())


def clear_live(street: Street) -> None:
    """Forget every reservation that a round made, and leave the tables as a vacuum leaves them."""
    run_sql(
        street.settings,
        "UPDATE compartments SET shipment_id = NULL WHERE shipment_id IS NOT NULL",
        """DELETE FROM events e USING shipments s
        WHERE s.released_at IS NULL AND e.tenant_id = s.tenant_id AND e.shipment_id = s.id""",
        "DELETE FROM shipments WHERE released_at IS NULL",
        "TRUNCATE webhook_lanes",
        "VACUUM shipments",
        "VACUUM compartments",
        "VACUUM events",
        "CHECKPOINT",
    )


def fill_history(street: Street, count: int) -> None:
    """`count` finished shipments with their events, as a year of work would leave them."""
    run_sql(
        street.settings,
        f"""
        INSERT INTO shipments (tenant_id, id, external_order_id, attempt_number, box_id, compartment_code,
            reservation_ttl_minutes, pickup_ttl_minutes, stage, trail, event_count, created_at, updated_at,
            reservation_expires_at, released_at, pin_secret_id, pin_sealed, pin_lookup)
        SELECT '{street.tenant}', 'shp_bench_' || lpad(to_hex(n), 26, '0'), 'past-' || lpad(n::text, 12, '0'), 1,
            (ARRAY{street.boxes!r})[1 + n % {BOXES}], 'A' || 1 + n % 6, 1440, 2880, 'cancelled',
            ARRAY['reserve', 'cancel'], 3, at, at, at + interval '1 day', at, 'bench',
            decode(lpad(to_hex(n), 68, '0'), 'hex'), decode(lpad(to_hex(n), 32, '0'), 'hex')
        FROM generate_series(1, {count}) AS n
        CROSS JOIN LATERAL (SELECT now() - interval '1 second' * (n % 864000) AS at) AS t
        """,
        """
        INSERT INTO events (shipment_created_at, tenant_id, shipment_id, sequence, step, id, type, occurred_at, data)
        SELECT s.created_at, s.tenant_id, s.id, e.sequence, e.step, 'evt_' || s.id || e.sequence, e.type, s.created_at,
            '{}'
        FROM shipments s
        CROSS JOIN (VALUES (1, 1, 'reserved'), (2, 2, 'cancelled'), (3, 2, 'door_available'))
            AS e (sequence, step, type)
        """,
        "VACUUM ANALYZE shipments",
        "VACUUM ANALYZE events",
        "CHECKPOINT",
    )


def known_ids(street: Street) -> list[str]:
    """A thousand shipments from all over the history, to be read again and again."""

    async def read() -> list[str]:
        connection = await asyncpg.connect(street.settings.database_url)
        rows = await connection.fetch("SELECT id FROM shipments ORDER BY md5(id) LIMIT 1000", timeout=600)
        await connection.close()
        return [row["id"] for row in rows]

    return asyncio.run(read())
