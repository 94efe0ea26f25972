"""What a piece of code asks of PostgreSQL, and how PostgreSQL means to find it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
from asyncpg.connection import LoggedQuery

from pickupbox.database.connection import Connection

# These walk an index that holds nothing but what they are to take.
WITHOUT_CONDITION = ("shipments_due_at", "audit_")


@asynccontextmanager
async def listening(connection: Connection) -> AsyncIterator[list[LoggedQuery]]:
    """The statements that are run inside; complete when the block has ended."""
    asked: list[LoggedQuery] = []
    with connection.query_logger(asked.append):
        yield asked
        # asyncpg tells its listeners in the next turn of the loop.
        await asyncio.sleep(0)
    asked[:] = [one for one in asked if "typeinfo" not in one.query and "current_setting('jit')" not in one.query]


async def plan_of(connection: Connection, query: LoggedQuery) -> list[dict[str, Any]]:
    """Every node of the plan, top down: the generic one, which our sessions use whatever the values are."""
    await connection.execute(f"PREPARE asked AS {query.query}")
    try:
        values = ", ".join(["NULL"] * len(query.args))
        text = await connection.fetchval(f"EXPLAIN (FORMAT JSON) EXECUTE asked{f'({values})' if values else ''}")
    finally:
        await connection.execute("DEALLOCATE asked")
    return list(_nodes(orjson.loads(text)[0]["Plan"]))


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", []):
        yield from _nodes(part)


def assert_only_indexes(plan: list[dict[str, Any]]) -> None:
    assert [node["Relation Name"] for node in plan if node["Node Type"] == "Seq Scan"] == []
    for node in plan:
        index = node.get("Index Name")
        if index and not index.startswith(WITHOUT_CONDITION):
            assert "Index Cond" in node, f"all of {index} is read"


def indexes(plan: list[dict[str, Any]]) -> dict[str, set[str]]:
    """The indexes that a plan uses, by table; boxes and tenants, which hardly grow, left out."""
    used: dict[str, set[str]] = {}
    for node in plan:
        name = node.get("Index Name")
        table = node.get("Relation Name") or str(name).partition("_")[0]
        if name and table not in ("boxes", "tenants"):
            used.setdefault(table, set()).add(name)
    return used
