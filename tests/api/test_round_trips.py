"""What a hot path costs: counted on the wire to PostgreSQL."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest_asyncio

from pickupbox.api.app import make_app
from pickupbox.settings import Settings
from pickupbox.usecases.core import open_core
from tests.support.shop import Shop, client_of, open_shop
from tests.support.wire import Wire, counting_wire


@pytest_asyncio.fixture
async def wired(settings: Settings) -> AsyncIterator[tuple[Shop, Wire]]:
    """A shop whose API has a counted wire, on which everything was done once before: connected, prepared, key known."""
    async with counting_wire(settings.database_url) as wire:
        core = open_core(settings.model_copy(update={"database_url": wire.url}))
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
