"""The command line on a database of its own."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import asyncpg
import pytest
from click.testing import Result
from typer.testing import CliRunner

from pickupbox.cli import app
from pickupbox.settings import Settings
from pickupbox.usecases.core import Caller, open_core
from pickupbox.usecases.reserve import Wish, reserve
from tests.support.databases import environment_of, own_database

type Run = Callable[..., Result]
type Query = Callable[..., list[Any]]


@pytest.fixture(scope="package")
def settings() -> Iterator[Settings]:
    with own_database() as made:
        yield made


@pytest.fixture
def run(settings: Settings) -> Run:
    """Run a command with the settings of the database, and what the test says otherwise; None unsets."""

    def run(*arguments: str, input: str | None = None, **environment: str | None) -> Result:  # noqa: A002 - click's word
        values = environment_of(settings) | {"COLUMNS": "200"} | environment
        return CliRunner().invoke(app, list(arguments), env=values, input=input)

    return run


@pytest.fixture
def query(settings: Settings) -> Query:
    """Ask the database past the code."""

    def query(statement: str, *values: object) -> list[Any]:
        async def ask() -> list[Any]:
            connection = await asyncpg.connect(settings.database_url)
            try:
                return [tuple(row.values()) for row in await connection.fetch(statement, *values)]
            finally:
                await connection.close()

        return asyncio.run(ask())

    return query


@pytest.fixture
def tenant(run: Run) -> str:
    return run("tenant", "add", "Test shop").stdout.split()[0]


@pytest.fixture
def shipment(settings: Settings, run: Run, tenant: str, query: Query) -> Iterator[str]:
    """A reserved shipment of the tenant; released at the end, so that the next test finds nothing."""
    box = run("box", "add", "Box", "--tenant", tenant).stdout.strip()

    async def make() -> str:
        core = open_core(settings)
        made = await reserve(core, Caller(tenant, "test"), Wish(box, "A"))
        await core.db.close()
        return made.shipment.id

    yield asyncio.run(make())
    query("UPDATE shipments SET stage = 'reserved' WHERE tenant_id = $1", tenant)
