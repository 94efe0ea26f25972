"""What a piece of code asks of PostgreSQL, and how PostgreSQL means to find it, on a new and on a grown database."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import orjson
import pytest
import pytest_asyncio
from asyncpg.connection import LoggedQuery
from starlette.types import ASGIApp

from pickupbox.api.app import make_app
from pickupbox.database.connection import Connection
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core, open_core
from tests.support.databases import own_database
from tests.support.shop import Shop, open_shop

# These walk an index that holds nothing but what they are to take.
WITHOUT_CONDITION = ("shipments_due_at", "audit_")


def databases(seed: Callable[[Shop], Awaitable[object]], growth: str) -> tuple[Any, Any, Any]:
    """The fixtures `settings`, `core` and `app` of a module: a new database, and one that grew from what was seeded.

    A plan may be made while a table is empty, and be kept when it has grown: both must be right.
    """

    @pytest.fixture(scope="module", params=["new", "grown"])
    def settings(request: pytest.FixtureRequest) -> Iterator[Settings]:
        with own_database() as made:
            if request.param == "grown":
                asyncio.run(_grow(made, seed, growth))
            yield made

    @pytest_asyncio.fixture(scope="module")
    async def core(settings: Settings) -> AsyncIterator[Core]:
        core = open_core(settings)
        yield core
        await core.db.close()

    @pytest.fixture(scope="module")
    def app(core: Core) -> ASGIApp:
        return make_app(core, "memory://")

    return settings, core, app


async def _grow(settings: Settings, seed: Callable[[Shop], Awaitable[object]], growth: str) -> None:
    core = open_core(settings)
    shop = await open_shop(core, make_app(core, "memory://"))
    await seed(shop)
    await shop.http.aclose()
    await core.db.close()
    # Past our limits: it may take longer than a statement of ours ever should.
    connection = await asyncpg.connect(settings.database_url)
    await connection.execute(growth)
    await connection.close()


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
    return list(nodes(orjson.loads(text)[0]["Plan"]))


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", []):
        yield from nodes(part)


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
