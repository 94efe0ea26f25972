"""`check` finds every event that an endpoint should have been told and was not, and nothing where all is well."""

import pytest

from pickupbox.database import lanes
from pickupbox.database.lanes import Settled, Wish
from pickupbox.domain.lifecycle import Event
from pickupbox.usecases.check import check
from pickupbox.usecases.endpoints import add_endpoint, disable_endpoint, remove_endpoint, tend_endpoints
from tests.support.shop import Shop


async def subscribe(shop: Shop, *types: Event) -> str:
    return (await add_endpoint(shop.core, shop.caller, "https://shop.example/hook", "", types or None)).id


async def breaches(shop: Shop) -> list[str]:
    """What breaks invariant 7 for the shop's tenant; nothing else is broken."""
    found = {finding.number: finding.breaches for finding in await check(shop.core, shop.tenant) if finding.breaches}
    assert set(found) <= {7}
    return found.get(7, [])


async def spoil(shop: Shop, statement: str, *values: object) -> None:
    async with shop.core.db.connection() as connection:
        done = await connection.execute(statement, *values)
    assert not done.endswith(" 0"), "the statement spoiled nothing"


async def tell(shop: Shop, endpoint: str, outcome: str = "accepted") -> None:
    """The heads of what waits are settled that way."""
    async with shop.core.db.connection() as connection:
        claimed = await lanes.claim(connection, [Wish(endpoint, 100, probe=False)])
        delay = 60.0 if outcome == "failed" else None
        await lanes.settle_many(connection, [Settled(c, outcome, delay, 500, None, 1, "") for c in claimed])


async def test_what_waits_is_delivered_or_was_given_up_is_sound(shop: Shop) -> None:
    endpoint = await subscribe(shop)
    await subscribe(shop, Event.FAULT)
    await shop.reserved("A", "expired")
    assert await breaches(shop) == []
    for outcome in ("accepted", "given_up", "failed"):
        await tell(shop, endpoint, outcome)
        assert await breaches(shop) == []


async def test_a_lane_that_is_lost_is_found(shop: Shop) -> None:
    endpoint = await subscribe(shop)
    shipment = await shop.reserved("A")
    await spoil(shop, "DELETE FROM webhook_lanes WHERE shipment_id = $1", shipment)
    (breach,) = await breaches(shop)
    assert endpoint in breach
    await shop.reserved("B")
    assert len(await breaches(shop)) == 1


async def test_each_endpoint_that_was_not_told_is_found(shop: Shop) -> None:
    told, forgotten = await subscribe(shop), await subscribe(shop)
    await shop.reserved("A")
    await tell(shop, told)
    await spoil(shop, "DELETE FROM webhook_lanes WHERE endpoint_id = $1", forgotten)
    (breach,) = await breaches(shop)
    assert forgotten in breach


async def test_an_event_that_is_missing_in_its_lane_is_found(shop: Shop) -> None:
    await subscribe(shop)
    shipment = await shop.reserved("A", "expired")
    await spoil(shop, "UPDATE webhook_lanes SET waiting = '{1,3}' WHERE shipment_id = $1", shipment)
    assert len(await breaches(shop)) == 1


async def test_a_failure_alone_is_no_delivery(shop: Shop) -> None:
    endpoint = await subscribe(shop)
    shipment = await shop.reserved("A")
    await tell(shop, endpoint, "failed")
    await spoil(shop, "DELETE FROM webhook_lanes WHERE shipment_id = $1", shipment)
    assert len(await breaches(shop)) == 1


async def test_an_acceptance_by_another_endpoint_or_of_another_event_is_no_delivery(shop: Shop) -> None:
    endpoint = await subscribe(shop)
    await shop.reserved("A")
    await tell(shop, endpoint)
    await spoil(shop, "UPDATE webhook_attempts SET endpoint_id = 'whe_other' WHERE endpoint_id = $1", endpoint)
    assert len(await breaches(shop)) == 1
    await spoil(
        shop, "UPDATE webhook_attempts SET endpoint_id = $1, sequence = 2 WHERE endpoint_id = 'whe_other'", endpoint
    )
    assert len(await breaches(shop)) == 1


@pytest.mark.parametrize("waiting", ["{2,1}", "{1,1,2}"])
async def test_a_lane_out_of_order_is_found(shop: Shop, waiting: str) -> None:
    await subscribe(shop, Event.RESERVED, Event.EXPIRED)
    shipment = await shop.reserved("A", "expired")
    await spoil(shop, f"UPDATE webhook_lanes SET waiting = '{waiting}' WHERE shipment_id = $1", shipment)
    assert len(await breaches(shop)) == 1


async def test_a_lane_that_waits_for_an_event_that_there_is_none_of_is_found(shop: Shop) -> None:
    await subscribe(shop)
    shipment = await shop.reserved("A")
    await spoil(shop, "UPDATE webhook_lanes SET waiting = '{1,2}' WHERE shipment_id = $1", shipment)
    assert len(await breaches(shop)) == 1


async def test_a_lane_that_does_not_find_its_events_is_found(shop: Shop) -> None:
    await subscribe(shop)
    shipment = await shop.reserved("A")
    elsewhere = "shipment_created_at = shipment_created_at - interval '1 s'"
    await spoil(shop, f"UPDATE webhook_lanes SET {elsewhere} WHERE shipment_id = $1", shipment)
    assert len(await breaches(shop)) == 1


async def test_a_lane_to_an_endpoint_of_another_tenant_is_found(shop: Shop, other_shop: Shop) -> None:
    endpoint = await subscribe(shop)
    foreign = await subscribe(other_shop)
    shipment = await shop.reserved("A")
    await tell(shop, endpoint)
    await spoil(
        shop,
        """
        INSERT INTO webhook_lanes (tenant_id, endpoint_id, shipment_id, shipment_created_at, waiting)
        SELECT tenant_id, $2, shipment_id, shipment_created_at, '{1}' FROM events WHERE shipment_id = $1
        """,
        shipment,
        foreign,
    )
    assert len(await breaches(shop)) == 1
    assert await breaches(other_shop) == []


async def test_what_a_removed_endpoint_was_not_told_is_no_breach(shop: Shop) -> None:
    endpoint = await subscribe(shop)
    await shop.reserved("A")
    await remove_endpoint(shop.core, shop.caller, endpoint)
    assert await breaches(shop) == []
    await tend_endpoints(shop.core)
    assert await breaches(shop) == []


async def test_what_a_disabled_endpoint_missed_is_no_breach_and_what_waits_still_waits(shop: Shop) -> None:
    endpoint = await subscribe(shop)
    shipment = await shop.reserved("A")
    await disable_endpoint(shop.core, shop.caller, endpoint, "by hand")
    await shop.reserved("B")
    assert await breaches(shop) == []
    await spoil(shop, "DELETE FROM webhook_lanes WHERE shipment_id = $1", shipment)
    assert len(await breaches(shop)) == 1


async def test_what_is_older_than_the_attempts_that_are_kept_is_no_breach(shop: Shop) -> None:
    endpoint = await subscribe(shop)
    shipment = await shop.reserved("A")
    await tell(shop, endpoint)
    await spoil(shop, "DELETE FROM webhook_attempts WHERE shipment_id = $1", shipment)
    assert len(await breaches(shop)) == 1
    for table, column in (("shipments", "created_at"), ("events", "shipment_created_at"), ("events", "occurred_at")):
        key = "id" if table == "shipments" else "shipment_id"
        await spoil(shop, f"UPDATE {table} SET {column} = {column} - interval '31 days' WHERE {key} = $1", shipment)
    numbers = {finding.number for finding in await check(shop.core, shop.tenant) if finding.breaches}
    assert 7 not in numbers
