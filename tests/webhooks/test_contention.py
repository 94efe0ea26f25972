"""Side by side: claims are disjoint, and no row is fought over that the creates of a tenant share."""

import asyncio
from collections import Counter

from pickupbox.database import lanes
from pickupbox.database.lanes import Settled, Wish
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core, open_core
from tests.support.shop import Shop
from tests.webhooks.receiving import change, fetch, subscribe, waiting

SHIPMENTS = 60


async def full_box(shop: Shop) -> list[str]:
    box = await shop.add_box(SHIPMENTS)
    answers = await asyncio.gather(*(shop.reserve(f"order-{number}", box) for number in range(SHIPMENTS)))
    return [answer.json()["id"] for answer in answers]


async def test_a_claim_leaves_out_what_someone_else_is_claiming(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    for order in "ABCD":
        await shop.reserved(order)
    wish = [Wish(endpoint, 2, probe=False)]
    async with shop.core.db.transaction() as one, shop.core.db.transaction() as other:
        first = await lanes.claim(one, wish)
        second = await asyncio.wait_for(lanes.claim(other, wish), timeout=2)
    assert len({lane.shipment_id for lane in first} | {lane.shipment_id for lane in second}) == 4


async def test_workers_side_by_side_tell_each_event_once_and_each_lane_in_order(shop: Shop, settings: Settings) -> None:
    endpoint = (await subscribe(shop)).id
    made = await full_box(shop)
    await asyncio.gather(*(shop.simulate(shipment, "expired") for shipment in made))
    workers = [open_core(settings) for _ in range(3)]
    told: list[tuple[str, int]] = []

    async def deliver(core: Core) -> int:
        count = 0
        while await waiting(core, shop.tenant):
            async with core.db.connection() as connection:
                claimed = await lanes.claim(connection, [Wish(endpoint, 7, probe=False)])
                told.extend((lane.shipment_id, lane.sequence) for lane in claimed)
                count += len(claimed)
                await lanes.settle_many(connection, [Settled(c, "accepted", None, 200, None, 1, "") for c in claimed])
        return count

    async with asyncio.timeout(30):
        counts = await asyncio.gather(*(deliver(core) for core in workers))
    for core in workers:
        await core.db.close()
    assert set(Counter(told).values()) == {1}
    assert all(count > 0 for count in counts)
    for shipment in made:
        assert [sequence for one, sequence in told if one == shipment] == [1, 2, 3]


async def row_versions(shop: Shop) -> list[tuple[str, ...]]:
    return await fetch(
        shop.core,
        """
        SELECT 'tenant', ctid::text, xmin::text, xmax::text FROM tenants WHERE id = $1
        UNION ALL
        SELECT 'box', ctid::text, xmin::text, xmax::text FROM boxes WHERE tenant_id = $1
        UNION ALL
        SELECT id, ctid::text, xmin::text, xmax::text FROM webhook_endpoints WHERE tenant_id = $1
        ORDER BY 1, 2
        """,
        shop.tenant,
    )


async def test_a_create_neither_changes_nor_locks_a_row_that_other_creates_share(shop: Shop) -> None:
    """xmax shows also who only locked a row."""
    await subscribe(shop)
    await subscribe(shop)
    box = await shop.add_box(SHIPMENTS)
    before = {line[0]: line for line in await row_versions(shop) if line[0].startswith("whe")}
    for number in range(20):
        await shop.reserved(f"order-{number}", "expired", box_id=box)
    after = {line[0]: line for line in await row_versions(shop) if line[0].startswith("whe")}
    assert len(before) == 2
    assert after == before
    assert (
        await fetch(
            shop.core,
            "SELECT FROM webhook_failures f JOIN webhook_endpoints e ON e.id = f.endpoint_id WHERE e.tenant_id = $1",
            shop.tenant,
        )
        == []
    )


async def test_a_lane_under_way_does_not_hold_up_a_create_a_step_or_an_endpoint(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    shipments = [await shop.reserved(order) for order in "AB"]
    async with shop.core.db.transaction() as tx:
        await tx.execute("SELECT FROM webhook_lanes WHERE shipment_id = $1 FOR UPDATE", shipments[0])
        async with asyncio.timeout(2):
            assert (await shop.reserve("C")).status_code == 201
            assert (await shop.simulate(shipments[1], "expired")).status_code == 200
            await change(shop.core, "UPDATE webhook_endpoints SET description = 'x' WHERE id = $1", endpoint)


async def test_an_endpoint_under_change_holds_up_no_create_no_step_and_no_claim(shop: Shop) -> None:
    """No foreign key leads from lanes to endpoints: it would lock the row that all creates share."""
    endpoint = (await subscribe(shop)).id
    shipment = await shop.reserved("A")
    async with shop.core.db.transaction() as tx:
        await tx.execute("SELECT FROM webhook_endpoints WHERE id = $1 FOR UPDATE", endpoint)
        async with asyncio.timeout(2):
            assert (await shop.reserve("B")).status_code == 201
            assert (await shop.simulate(shipment, "expired")).status_code == 200
            async with shop.core.db.connection() as connection:
                claimed = await lanes.claim(connection, [Wish(endpoint, 9, probe=False)])
    assert len(claimed) == 2
