"""Whom a live page is told to: nobody who is out, nobody without what the page itself demands; and what ends the hub:
nothing that PostgreSQL says."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from pickupbox.admin import live
from pickupbox.admin.app import make_app
from pickupbox.admin.live import Hub
from pickupbox.database.connection import Database
from pickupbox.domain.doors import Happening
from pickupbox.domain.roles import Role
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from pickupbox.usecases.sessions import Visitor, begin
from pickupbox.usecases.team import change_role, remove_user
from tests.admin.office import Person, client_of
from tests.admin.people import run, someone
from tests.devices.street import Journal, add_device
from tests.support.shop import Shop
from tests.support.waiting import until


@pytest.fixture
async def hub(core: Core, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hub]:
    """One that asks often who is still there."""
    monkeypatch.setattr(live, "CHECK", 0.2)
    hub = Hub(core)
    running = asyncio.create_task(hub.run())
    yield hub
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def told(hub: Hub, visitor: Visitor, box: str) -> str:
    """All that a box's page is told, until its stream ends."""
    async with aclosing(hub.watch(visitor, (("box", visitor.tenant, box),), "en")) as stream:
        return b"".join([part async for part in stream]).decode()


async def visitor_of(core: Core, shop: Shop, role: Role) -> Visitor:
    return await (await someone(core, shop.tenant, role)).session()


async def test_who_is_removed_is_told_nothing_more(core: Core, shop: Shop, hub: Hub) -> None:
    journal = Journal(core, await add_device(shop))
    boss, viewer = await someone(core, shop.tenant), await visitor_of(core, shop, Role.VIEWER)
    async with asyncio.timeout(10):
        page = asyncio.create_task(told(hub, viewer, shop.box_id))
        await asyncio.sleep(0.5)
        assert not page.done()
        await remove_user(core, boss.caller, Role.OWNER, viewer.id)
        heard = await page
        assert "door-A1" in heard
        await journal.tell(Happening.DOOR_OPENED, "A1")
    assert 'edge-ajar" id="door-A1"' not in heard


async def test_a_session_that_is_over_and_a_role_that_changed_end_the_stream(core: Core, shop: Shop, hub: Hub) -> None:
    boss = await someone(core, shop.tenant)
    idle, changed, still = [await visitor_of(core, shop, Role.OPERATOR) for _ in range(3)]
    async with asyncio.timeout(10):
        pages = [asyncio.create_task(told(hub, visitor, shop.box_id)) for visitor in (idle, changed, still)]
        await asyncio.sleep(0.5)
        assert not any(page.done() for page in pages)
        await run(core, "UPDATE sessions SET seen_at = now() - interval '31 minutes' WHERE hash = $1", idle.session)
        await change_role(core, boss.caller, Role.OWNER, changed.id, Role.VIEWER)
        await asyncio.gather(*pages[:2])
        await asyncio.sleep(0.5)
        assert not pages[2].done()
        pages[2].cancel()


async def test_in_production_what_is_live_needs_the_second_factor_as_its_page_does(
    core: Core, shop: Shop, settings: Settings
) -> None:
    production = replace(core, environment="production")
    shipment = await shop.reserved("A", "loaded")
    owner = await someone(core, shop.tenant)
    browser = Person(
        client_of(make_app(production, settings)), production, owner.id, await begin(core, owner.id, None, None)
    )
    async with browser.http, asyncio.timeout(5):
        for path in (f"/shipments/{shipment}", f"/live?watch=shipment:{shipment}"):
            assert (await browser.get(path)).headers.get("location") == "/account/second-factor", path


async def test_what_is_live_goes_on_after_an_error_that_was_no_outage(core: Core, settings: Settings) -> None:
    role = f"late_{secrets.token_hex(6)}"  # PostgreSQL does not know it yet: an error, and not one of being away
    db = Database(settings.database_url.replace("://", f"://{role}@"))
    running = asyncio.create_task(Hub(replace(core, db=db)).run())
    try:
        with capture_logs() as lines:
            await until(lambda: any(line["event"] == "live_failed" for line in lines), 5)
            assert not running.done()
            await run(core, f"CREATE ROLE {role} LOGIN SUPERUSER")
            listening = "SELECT FROM pg_stat_activity WHERE usename = $1 AND query LIKE 'LISTEN%'"
            await until(lambda: _any(core, listening, role), 10)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await db.close()
        await run(core, f"DROP ROLE IF EXISTS {role}")


async def _any(core: Core, statement: str, *values: object) -> bool:
    return bool(await run(core, statement, *values))
