"""Lanes: written in the transition's commit, claimed in order with a lease, settled by whoever holds it."""

import asyncio

import pytest

from pickupbox.database import lanes, shipments
from pickupbox.database.lanes import Claimed, Settled, Wish
from pickupbox.domain.lifecycle import Event, Trigger
from pickupbox.usecases.core import Core
from pickupbox.usecases.endpoints import disable_endpoint
from pickupbox.usecases.steps import lock, prepare
from tests.support.shop import Shop
from tests.webhooks.receiving import change, fetch, subscribe, waiting


async def claim(core: Core, endpoint: str, room: int = 10) -> list[Claimed]:
    async with core.db.connection() as connection:
        return await lanes.claim(connection, [Wish(endpoint, room, probe=False)])


async def settle(core: Core, *settled: Settled) -> list[bool]:
    async with core.db.connection() as connection:
        return list(await lanes.settle_many(connection, settled))


def accepted(claimed: Claimed) -> Settled:
    return Settled(claimed, "accepted", None, 200, None, 12, "ok")


def failed(claimed: Claimed, delay: float) -> Settled:
    return Settled(claimed, "failed", delay, 500, None, 12, "no")


async def test_a_create_and_its_steps_put_their_events_on_one_lane_per_endpoint_in_order(shop: Shop) -> None:
    first, second = (await subscribe(shop)).id, (await subscribe(shop)).id
    shipment = await shop.reserved("A", "loaded", "picked_up")
    assert await shop.events(shipment) == ["reserved", "loaded", "picked_up"]
    assert await waiting(shop.core, shop.tenant) == sorted(
        [(first, shipment, [1, 2, 3]), (second, shipment, [1, 2, 3])]
    )


async def test_only_endpoints_that_subscribe_to_a_type_get_it(shop: Shop) -> None:
    pickups = (await subscribe(shop, "https://a.example", Event.PICKED_UP)).id
    both = (await subscribe(shop, "https://b.example", Event.RESERVED, Event.PICKED_UP)).id
    await subscribe(shop, "https://c.example", Event.FAULT)
    shipment = await shop.reserved("A", "loaded", "picked_up")
    assert await waiting(shop.core, shop.tenant) == sorted([(pickups, shipment, [3]), (both, shipment, [1, 3])])
    told = await fetch(shop.core, "SELECT endpoints FROM events WHERE shipment_id = $1 ORDER BY sequence", shipment)
    assert told == [([both],), (None,), (sorted([pickups, both]),)]


async def test_endpoints_of_others_and_disabled_or_removed_ones_get_no_lane(shop: Shop, other_shop: Shop) -> None:
    await subscribe(other_shop)
    off, gone = (await subscribe(shop)).id, (await subscribe(shop)).id
    await disable_endpoint(shop.core, shop.caller, off, "by hand")
    await change(shop.core, "UPDATE webhook_endpoints SET removed_at = now() WHERE id = $1", gone)
    await shop.reserved("A", "loaded", "picked_up")
    assert await waiting(shop.core, shop.tenant) == []
    assert await waiting(shop.core, other_shop.tenant) == []


async def test_a_step_that_is_rolled_back_leaves_no_event_and_no_lane(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    shipment = await shop.reserved("A")

    async def cancel_and_fail() -> None:
        async with shop.core.db.transaction() as tx:
            locked = await lock(tx, shop.tenant, shipment)
            await shipments.record(tx, [prepare(shop.core, locked, Trigger.CANCEL)])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await cancel_and_fail()
    assert await shop.events(shipment) == ["reserved"]
    assert await waiting(shop.core, shop.tenant) == [(endpoint, shipment, [1])]


async def test_a_create_that_loses_leaves_no_lane(shop: Shop) -> None:
    await subscribe(shop)
    box = await shop.add_box(1)
    answers = await asyncio.gather(*(shop.reserve(f"order-{number}", box) for number in range(6)))
    (made,) = [answer.json()["id"] for answer in answers if answer.status_code == 201]
    assert [shipment for _, shipment, _ in await waiting(shop.core, shop.tenant)] == [made]


async def test_only_the_head_of_a_lane_is_claimed_and_the_next_when_it_was_accepted(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    shipment = await shop.reserved("A", "loaded", "picked_up")
    for sequence, kind in enumerate(["reserved", "loaded", "picked_up"], start=1):
        (lane,) = await claim(shop.core, endpoint)
        assert (lane.shipment_id, lane.sequence, lane.event_type, lane.attempts) == (shipment, sequence, kind, 0)
        assert await claim(shop.core, endpoint) == []
        assert await settle(shop.core, accepted(lane)) == [sequence < 3]
    assert await waiting(shop.core, shop.tenant) == []


async def test_the_longest_due_lane_is_claimed_first_and_no_more_than_there_is_room_for(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    made = [await shop.reserved(order) for order in "ABC"]
    assert [lane.shipment_id for lane in await claim(shop.core, endpoint, 1)] == [made[0]]
    assert sorted(lane.shipment_id for lane in await claim(shop.core, endpoint, 5)) == sorted(made[1:])


async def test_a_failure_delays_its_own_lane_alone_and_counts_its_attempts(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    first, second = await shop.reserved("A", "loaded", "picked_up"), await shop.reserved("B")
    (lane,) = [lane for lane in await claim(shop.core, endpoint) if lane.shipment_id == first]
    assert await settle(shop.core, failed(lane, 3600.0)) == [False]
    ((attempts, wait),) = await fetch(
        shop.core,
        "SELECT attempts, extract(epoch FROM due_at - now())::float FROM webhook_lanes WHERE shipment_id = $1",
        first,
    )
    assert (attempts, wait) == (1, pytest.approx(3600, abs=5))
    await change(shop.core, "UPDATE webhook_lanes SET due_at = now() WHERE shipment_id = $1", second)
    assert [other.shipment_id for other in await claim(shop.core, endpoint)] == [second]
    await change(shop.core, "UPDATE webhook_lanes SET due_at = now() WHERE shipment_id = $1", first)
    (again,) = await claim(shop.core, endpoint)
    assert (again.event_id, again.attempts, again.data) == (lane.event_id, 1, lane.data)
    await settle(shop.core, accepted(again))
    assert [lane.attempts for lane in await claim(shop.core, endpoint)] == [0]


async def test_a_given_up_head_lets_its_lane_move_on(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    shipment = await shop.reserved("A", "expired")
    (lane,) = await claim(shop.core, endpoint)
    given_up = Settled(lane._replace(attempts=9), "given_up", None, None, "timeout", 15000, "")
    assert await settle(shop.core, given_up) == [True]
    assert await waiting(shop.core, shop.tenant) == [(endpoint, shipment, [2, 3])]
    assert [next_one.event_type for next_one in await claim(shop.core, endpoint)] == ["expired"]
    kept = "SELECT sequence, number, outcome, status, error FROM webhook_attempts WHERE shipment_id = $1"
    assert await fetch(shop.core, kept, shipment) == [(1, 10, "given_up", None, "timeout")]


async def test_who_lost_the_lease_settles_nothing_but_the_attempt_is_kept(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    shipment = await shop.reserved("A", "expired")
    (late,) = await claim(shop.core, endpoint)
    await change(shop.core, "UPDATE webhook_lanes SET due_at = now() WHERE shipment_id = $1", shipment)
    (holder,) = await claim(shop.core, endpoint)
    assert holder.leased_until != late.leased_until
    assert await settle(shop.core, accepted(late), failed(late, 60.0)) == [False, False]
    assert await waiting(shop.core, shop.tenant) == [(endpoint, shipment, [1, 2, 3])]
    async with shop.core.db.connection() as connection:
        await lanes.give_back(connection, [late])
    assert await claim(shop.core, endpoint) == []
    assert await settle(shop.core, accepted(holder)) == [True]
    kept = await fetch(shop.core, "SELECT outcome FROM webhook_attempts WHERE shipment_id = $1", shipment)
    assert sorted(kept) == [("accepted",), ("accepted",), ("failed",)]


async def test_what_is_given_back_is_due_at_once_with_its_attempts_as_they_were(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    for order in "AB":
        await shop.reserved(order)
    claimed = await claim(shop.core, endpoint)
    async with shop.core.db.connection() as connection:
        await lanes.give_back(connection, claimed)
    again = await claim(shop.core, endpoint)
    assert {(lane.event_id, lane.attempts) for lane in again} == {(lane.event_id, 0) for lane in claimed}


async def test_a_step_between_claim_and_settle_keeps_its_event(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    shipment = await shop.reserved("A")
    (lane,) = await claim(shop.core, endpoint)
    await shop.simulate(shipment, "expired")
    assert await settle(shop.core, accepted(lane)) == [True]
    assert await waiting(shop.core, shop.tenant) == [(endpoint, shipment, [2, 3])]


async def test_a_step_under_way_while_the_lane_is_settled_keeps_its_event(shop: Shop) -> None:
    """The settling waits for the step's commit, and sees what it has added."""
    endpoint = (await subscribe(shop)).id
    shipment = await shop.reserved("A")
    (lane,) = await claim(shop.core, endpoint)
    async with shop.core.db.transaction() as tx:
        locked = await lock(tx, shop.tenant, shipment)
        await shipments.record(tx, [prepare(shop.core, locked, Trigger.CANCEL)])
        settling = asyncio.create_task(settle(shop.core, accepted(lane)))
        await asyncio.wait([settling], timeout=0.2)
        assert not settling.done()
    assert await asyncio.wait_for(settling, 5) == [True]
    assert await waiting(shop.core, shop.tenant) == [(endpoint, shipment, [2, 3])]


async def test_a_step_that_comes_while_the_lane_is_told_to_its_end_gets_a_new_lane(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    shipment = await shop.reserved("A")
    (lane,) = await claim(shop.core, endpoint)
    async with shop.core.db.transaction() as tx:
        assert await lanes.settle_many(tx, [accepted(lane)]) == [False]
        stepping = asyncio.create_task(shop.cancel(shipment))
        await asyncio.wait([stepping], timeout=0.2)
        assert not stepping.done()
    assert (await asyncio.wait_for(stepping, 5)).status_code == 200
    assert await waiting(shop.core, shop.tenant) == [(endpoint, shipment, [2, 3])]


async def test_many_are_settled_together_each_by_its_own_outcome(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    made = {
        order: await shop.reserved(order, *events) for order, events in {"A": (), "B": ("expired",), "C": ()}.items()
    }
    claimed = {lane.shipment_id: lane for lane in await claim(shop.core, endpoint)}
    a, b, c = (claimed[made[order]] for order in "ABC")
    assert await settle(shop.core, failed(c, 30.0), accepted(b), accepted(a)) == [False, True, False]
    assert await waiting(shop.core, shop.tenant) == sorted([(endpoint, made["B"], [2, 3]), (endpoint, made["C"], [1])])
