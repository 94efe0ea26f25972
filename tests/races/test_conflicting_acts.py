"""Cancel, load, expire and fault at once, 1,000 rounds: always a legal history, and every answer true."""

import asyncio

import pytest

from pickupbox.usecases.check import check
from pickupbox.usecases.clock import sweep
from tests.support.databases import elapse
from tests.support.shop import Shop

ROUNDS = 250
TWO_DAYS = 2 * 86400


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(4))
async def test_cancel_load_expire_and_fault_at_once_make_a_legal_history(shop: Shop, shard: int) -> None:
    box = await shop.add_box(compartments=500)
    for number in range(ROUNDS):
        shipment_id = await shop.reserved(f"order-{shard}-{number}", box_id=box)
        if number % 2:
            await elapse(shop.core, shipment_id, TWO_DAYS)
        cancelled, loaded, faulted, _ = await asyncio.gather(
            shop.cancel(shipment_id),
            shop.simulate(shipment_id, "loaded"),
            shop.simulate(shipment_id, "fault"),
            sweep(shop.core, 10),
        )
        answers = {"cancel": cancelled, "load": loaded, "fault": faulted}
        assert {answer.status_code for answer in answers.values()} <= {200, 409}
        taken = {trigger for trigger, answer in answers.items() if answer.status_code == 200}
        assert set(await _trail(shop, shipment_id)) - {"reserve", "expire"} == taken
    assert not [finding for finding in await check(shop.core, shop.tenant) if finding.breaches]


async def _trail(shop: Shop, shipment_id: str) -> list[str]:
    async with shop.core.db.connection() as connection:
        trail: list[str] = await connection.fetchval(
            "SELECT trail FROM shipments WHERE tenant_id = $1 AND id = $2", shop.tenant, shipment_id
        )
    return trail
