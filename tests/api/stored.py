"""What rests in the database, for tests that look behind an answer."""

import json
from typing import Any

from pickupbox.usecases.clock import sweep
from pickupbox.usecases.core import Core
from tests.support.databases import elapse
from tests.support.shop import Shop

TABLES = ("boxes", "compartments", "shipments", "events", "audit")


async def told(shop: Shop, shipment_id: str) -> list[dict[str, Any]]:
    """The shipment's events in order, each with its id, type, time and data."""
    rows = await rows_of(shop.core, "events", shop.tenant, "AND t.shipment_id = $2 ORDER BY sequence", shipment_id)
    return [{name: row[name] for name in ("sequence", "id", "type", "occurred_at", "data")} for row in rows]


async def audit_of(shop: Shop) -> list[dict[str, Any]]:
    return await rows_of(shop.core, "audit", shop.tenant, "ORDER BY id")


async def everything(shop: Shop) -> dict[str, list[dict[str, Any]]]:
    """All that the tenant has, to see that nothing of it changed."""
    return {table: await rows_of(shop.core, table, shop.tenant, "ORDER BY t::text") for table in TABLES}


async def rows_of(core: Core, table: str, tenant: str, rest: str, *values: object) -> list[dict[str, Any]]:
    async with core.db.connection() as connection:
        rows = await connection.fetch(
            f"SELECT row_to_json(t) AS row FROM {table} t WHERE t.tenant_id = $1 {rest}", tenant, *values
        )
    return [json.loads(row["row"]) for row in rows]


async def wait(core: Core, shipment_id: str, seconds: float) -> None:
    """Let time pass for one shipment, then let the clock act on whatever is due."""
    await elapse(core, shipment_id, seconds)
    while await sweep(core, 1000):
        pass
