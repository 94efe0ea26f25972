"""A shop that reads the feed, and what it should have read."""

import asyncio
from typing import Any

import httpx

from tests.support.shop import Shop

SECONDS = 30


async def page(shop: Shop, after: str | None = None, limit: int | None = None) -> httpx.Response:
    asked = {"after": after, "limit": limit}
    return await shop.http.get("/events", params={name: value for name, value in asked.items() if value is not None})


async def read_on(shop: Shop, after: str | None = None, limit: int = 1000) -> list[dict[str, Any]]:
    """Everything that can be read from there on, page by page."""
    read: list[dict[str, Any]] = []
    while True:
        answer = await page(shop, after, limit)
        assert answer.status_code == 200, answer.text
        items = answer.json()["items"]
        read += items
        assert len(set(ids(read))) == len(read), "an event came twice"
        if not answer.json()["has_more"]:
            return read
        assert len(items) == limit
        after = items[-1]["id"]


async def settled(shop: Shop) -> None:
    """Wait until all that the shop was told can be read: other databases of the server have transactions too."""
    async with asyncio.timeout(SECONDS), shop.core.db.connection() as connection:
        while True:
            waiting = await connection.fetchval(
                """
                SELECT count(*) FROM events
                WHERE tenant_id = $1 AND told_in >= pg_snapshot_xmin(pg_current_snapshot())
                """,
                shop.tenant,
            )
            if not waiting:
                return
            await asyncio.sleep(0.01)


async def stored(shop: Shop) -> dict[str, list[str]]:
    """The ids of all committed events, by shipment, in the shipment's order."""
    async with shop.core.db.connection() as connection:
        rows = await connection.fetch(
            "SELECT shipment_id, array_agg(id ORDER BY sequence) AS ids FROM events WHERE tenant_id = $1 GROUP BY 1",
            shop.tenant,
        )
    return {row["shipment_id"]: row["ids"] for row in rows}


def by_shipment(events: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The ids of what was read, by shipment, as they came."""
    found: dict[str, list[str]] = {}
    for event in events:
        found.setdefault(event["data"]["shipment_id"], []).append(event["id"])
    return found


def ids(events: list[dict[str, Any]]) -> list[str]:
    return [event["id"] for event in events]
