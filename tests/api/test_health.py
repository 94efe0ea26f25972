"""/livez and /readyz: outside the base address, without a key."""

import httpx
from starlette.types import ASGIApp

from pickupbox.database import schema
from pickupbox.settings import Settings
from tests.api.places import away, served
from tests.support.databases import SERVER_URL
from tests.support.shop import client_of


async def get(app: ASGIApp, path: str) -> httpx.Response:
    async with client_of(app) as client:
        return await client.get(f"http://test{path}")


async def test_a_process_on_its_own_database_is_alive_and_ready(app: ASGIApp) -> None:
    alive, ready = await get(app, "/livez"), await get(app, "/readyz")
    assert (alive.status_code, alive.json()) == (200, {"alive": True})
    assert (ready.status_code, ready.json()) == (200, {"ready": True, "reason": None})


async def test_alive_never_asks_the_database_and_ready_does(settings: Settings) -> None:
    async with away(settings) as app:
        assert (await get(app, "/livez")).status_code == 200
        answer = await get(app, "/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"ready": False, "reason": "PostgreSQL does not answer"}


async def test_a_process_for_another_environment_or_cell_is_not_ready(settings: Settings) -> None:
    for change in ({"environment": "production"}, {"cell": "c2"}):
        async with served(settings.model_copy(update=change)) as (_, app):
            answer = await get(app, "/readyz")
        assert answer.status_code == 503
        assert "the sandbox of cell c1" in answer.json()["reason"]
        assert "PICKUPBOX_DATABASE_URL" in answer.json()["reason"]


async def test_a_database_that_was_never_migrated_is_not_ready(settings: Settings) -> None:
    name = f"{settings.database_url.rpartition('/')[2]}_empty"
    await schema.create_database(SERVER_URL, name)
    try:
        async with served(settings.model_copy(update={"database_url": schema.url_of(SERVER_URL, name)})) as (_, app):
            answer = await get(app, "/readyz")
            assert (await get(app, "/livez")).status_code == 200
    finally:
        await schema.drop_database(SERVER_URL, name)
    assert answer.status_code == 503
    assert "run pickupbox migrate" in answer.json()["reason"]


async def test_a_database_of_an_older_version_is_not_ready(own_settings: Settings) -> None:
    async with served(own_settings) as (core, app):
        async with core.db.connection() as connection:
            await connection.execute("UPDATE alembic_version SET version_num = '0000'")
        answer = await get(app, "/readyz")
    assert answer.status_code == 503
    assert "0000" in answer.json()["reason"]
    assert "run pickupbox migrate" in answer.json()["reason"]


async def test_health_says_nothing_to_a_stranger_but_health(app: ASGIApp, settings: Settings) -> None:
    for path in ("/livez", "/readyz"):
        answer = await get(app, path)
        assert settings.database_url not in answer.text
        assert answer.headers["x-request-id"]
