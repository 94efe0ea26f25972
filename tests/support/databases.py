"""A database per test process, made from migrations and dropped at the end."""

import asyncio
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from pickupbox.database import deployments, schema
from pickupbox.settings import LOCAL_DATABASE, Settings
from pickupbox.usecases.core import Core, open_core
from pickupbox.usecases.partitions import keep_partitions
from pickupbox.vault import new_secret

SERVER_URL = os.environ.get("PICKUPBOX_TEST_DATABASE_URL", LOCAL_DATABASE)


@contextmanager
def own_database(environment: str = "sandbox") -> Iterator[Settings]:
    """A migrated database that nobody else uses, and settings for it."""
    name = f"pickupbox_test_{os.getpid()}_{secrets.token_hex(4)}"
    settings = Settings(
        database_url=schema.url_of(SERVER_URL, name),
        environment=environment,
        cell="c1",
        secrets=new_secret("k1"),
        database_pool=20,
    )
    asyncio.run(schema.create_database(SERVER_URL, name))
    try:
        schema.migrate(settings.database_url)
        asyncio.run(_declare(settings))
        yield settings
    finally:
        asyncio.run(schema.drop_database(SERVER_URL, name))


async def _declare(settings: Settings) -> None:
    core = open_core(settings)
    async with core.db.connection() as connection:
        await deployments.declare(connection, deployments.Deployment(settings.environment, settings.cell, None))
    await keep_partitions(core)
    await core.db.close()


def environment_of(settings: Settings) -> dict[str, str]:
    """The settings as variables for a process of its own."""
    return {**os.environ, **settings.variables()}


async def elapse(core: Core, shipment_id: str, seconds: float) -> None:
    """Let time pass for one shipment: everything about it happened that much earlier."""
    async with core.db.transaction() as tx:
        await tx.execute(
            """
            WITH moved AS (
                UPDATE shipments SET created_at = created_at - d, updated_at = updated_at - d, due_at = due_at - d,
                    reservation_expires_at = reservation_expires_at - d, loaded_at = loaded_at - d,
                    pickup_available_at = pickup_available_at - d, pickup_expires_at = pickup_expires_at - d,
                    picked_up_at = picked_up_at - d, released_at = released_at - d
                FROM make_interval(secs => $2) AS d WHERE id = $1
            ), moved_lanes AS (
                UPDATE webhook_lanes SET shipment_created_at = shipment_created_at - d
                FROM make_interval(secs => $2) AS d WHERE shipment_id = $1
            )
            UPDATE events SET shipment_created_at = shipment_created_at - d, occurred_at = occurred_at - d
            FROM make_interval(secs => $2) AS d WHERE shipment_id = $1
            """,
            shipment_id,
            seconds,
        )
