"""The production environment: no sandbox operation, live keys, the street's own defaults."""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta

import pytest
import pytest_asyncio
from starlette.types import ASGIApp

from pickupbox.domain.lifecycle import Trigger
from pickupbox.settings import Settings
from pickupbox.usecases.boxes import default_setup
from pickupbox.usecases.core import Core
from pickupbox.usecases.tenants import issue_key
from tests.api.additions import SERVED
from tests.api.contract import SANDBOX_PATH
from tests.api.places import served
from tests.api.test_deadlines import happens
from tests.support.databases import own_database
from tests.support.shop import Shop, client_of, open_shop


@pytest.fixture(scope="module")
def production_settings() -> Iterator[Settings]:
    with own_database("production") as settings:
        yield settings


@pytest_asyncio.fixture
async def production(production_settings: Settings) -> AsyncIterator[tuple[Shop, ASGIApp]]:
    async with served(production_settings) as (core, app):
        shop = await open_shop(core, app)
        async with shop.http:
            yield shop, app


async def test_production_has_no_sandbox_operation(production: tuple[Shop, ASGIApp]) -> None:
    shop, _ = production
    shipment_id = await shop.reserved()
    for event in ("loaded", "fault", "expired"):
        answer = await shop.simulate(shipment_id, event)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert (await shop.read(shipment_id)).json()["status"] == "reserved"


async def test_the_sandbox_path_is_as_unknown_as_any_other(production: tuple[Shop, ASGIApp]) -> None:
    shop, app = production
    async with client_of(app) as stranger:
        assert (await stranger.post("/sandbox/shipments/x/events", json={"event": "loaded"})).status_code == 401
    for method in ("GET", "POST", "PUT"):
        answer = await shop.http.request(method, "/sandbox/shipments/x/events")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


async def test_the_document_of_production_has_no_sandbox_operation(production: tuple[Shop, ASGIApp]) -> None:
    shop, _ = production
    answer = await shop.http.get("/openapi.json")
    assert set(answer.json()["paths"]) == {operation.path for operation in SERVED if operation.path != SANDBOX_PATH}
    assert "/sandbox" not in answer.text
    assert "simulateEvent" not in answer.text


async def test_the_page_of_production_shows_no_sandbox_operation(production: tuple[Shop, ASGIApp]) -> None:
    shop, _ = production
    assert "/sandbox" not in (await shop.http.get("/docs")).text


async def test_everything_else_is_the_same(production: tuple[Shop, ASGIApp], app: ASGIApp) -> None:
    shop, _ = production
    async with client_of(app) as sandbox:
        there = (await sandbox.get("/openapi.json")).json()
    here = (await shop.http.get("/openapi.json")).json()
    assert here["info"] == there["info"]
    for path, operations in here["paths"].items():
        for method, operation in operations.items():
            assert set(operation["responses"]) == set(there["paths"][path][method]["responses"])


async def test_production_keys_are_live_keys(production: tuple[Shop, ASGIApp]) -> None:
    shop, app = production
    issued = await issue_key(shop.core, shop.caller, "live")
    assert issued is not None
    assert issued.api_key.startswith("pbx_live_c1_")
    async with client_of(app, issued.api_key) as client:
        assert (await client.get("/boxes")).status_code == 200


async def test_a_key_of_one_environment_is_unknown_in_the_other(
    production: tuple[Shop, ASGIApp], shop: Shop, app: ASGIApp
) -> None:
    live_shop, live_app = production
    async with client_of(live_app, shop.api_key) as test_key, client_of(app, live_shop.api_key) as live_key:
        assert (await test_key.get("/boxes")).status_code == 401
        assert (await live_key.get("/boxes")).status_code == 401


async def test_boxes_of_production_protect_and_cool_down_longer(production: tuple[Shop, ASGIApp], core: Core) -> None:
    shop, _ = production
    street, sandbox = default_setup(shop.core, "Box"), default_setup(core, "Box")
    assert (street.protection_seconds, street.cooldown_seconds, street.door_open_seconds) == (120, 300, 180)
    assert (sandbox.protection_seconds, sandbox.cooldown_seconds, sandbox.door_open_seconds) == (5, 5, 180)
    assert (street.reservation_ttl_minutes, street.pickup_ttl_minutes) == (1440, 2880)
    shipment_id = await shop.reserved()
    await happens(shop, shipment_id, Trigger.DOOR_OPENED, Trigger.DOOR_CLOSED)
    shown = (await shop.read(shipment_id)).json()
    loaded, available = (datetime.fromisoformat(shown[name]) for name in ("loaded_at", "pickup_available_at"))
    assert available - loaded == timedelta(seconds=120)
