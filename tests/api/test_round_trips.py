"""What a hot path costs: counted on the wire to PostgreSQL."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest_asyncio

from pickupbox.api.app import make_app
from pickupbox.settings import Settings
from pickupbox.usecases.core import open_core
from tests.api.feeds import settled
from tests.support.shop import Shop, client_of, open_shop
from tests.support.wire import Wire, counting_wire


@pytest_asyncio.fixture
async def wired(settings: Settings) -> AsyncIterator[tuple[Shop, Wire]]:
    """A shop whose API has a counted wire, on which everything was done once before: connected, prepared, key known."""
    async with counting_wire(settings.database_url) as wire:
        core = open_core(settings.model_copy(update={"database_url": wire.url, "database_pool": 1}))
        app = make_app(core, "memory://")
        shop = await open_shop(core, app)
        async with client_of(app, shop.api_key) as http:
            shop = replace(shop, http=http)
            await shop.read(await shop.reserved("warm-up"))
            yield shop, wire
        await core.db.close()


async def test_a_new_reservation_costs_one_round_trip(wired: tuple[Shop, Wire]) -> None:
    shop, wire = wired
    before = wire.round_trips
    assert (await shop.reserve("order-1")).status_code == 201
    assert wire.round_trips - before == 1


async def test_a_read_costs_one_round_trip(wired: tuple[Shop, Wire]) -> None:
    shop, wire = wired
    shipment_id = await shop.reserved("order-1")
    before = wire.round_trips
    assert (await shop.read(shipment_id)).status_code == 200
    assert wire.round_trips - before == 1


async def test_a_cancellation_costs_four_round_trips(wired: tuple[Shop, Wire]) -> None:
    """Begin, lock, record, commit: the count can tell more than one."""
    shop, wire = wired
    await shop.cancel(await shop.reserved("order-0"))
    shipment_id = await shop.reserved("order-1")
    before = wire.round_trips
    assert (await shop.cancel(shipment_id)).status_code == 200
    assert wire.round_trips - before == 4


async def test_a_page_of_the_feed_costs_one_round_trip(wired: tuple[Shop, Wire]) -> None:
    shop, wire = wired
    assert (await shop.http.get("/events")).status_code == 200
    await settled(shop)
    (first,) = (await shop.http.get("/events")).json()["items"]
    before = wire.round_trips
    assert (await shop.http.get("/events", params={"after": first["id"]})).json()["items"] == []
    assert (await shop.http.get("/events", params={"after": "unknown"})).status_code == 404
    assert wire.round_trips - before == 2


async def test_finding_an_order_costs_one_round_trip(wired: tuple[Shop, Wire]) -> None:
    shop, wire = wired
    asked = {"external_order_id": "warm-up"}
    await shop.http.get("/shipments", params=asked)
    before = wire.round_trips
    assert len((await shop.http.get("/shipments", params=asked)).json()["items"]) == 1
    assert wire.round_trips - before == 1
