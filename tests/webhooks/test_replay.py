"""Replay: one event or all since a time go back on their lanes, in their places, once."""

from datetime import UTC, datetime, timedelta

import pytest

from pickupbox.database import lanes
from pickupbox.database.lanes import Settled, Wish
from pickupbox.domain.lifecycle import Event
from pickupbox.usecases import replay
from pickupbox.usecases.core import Core
from pickupbox.usecases.replay import replay_event, replay_since
from tests.support.shop import Shop
from tests.webhooks.receiving import change, event_ids, fetch, subscribe, waiting

LONG_AGO = datetime(2024, 1, 1, tzinfo=UTC)


def silent(_: int, __: datetime) -> None:
    pass


async def tell_all(core: Core, endpoint: str) -> list[str]:
    """Everything that waits is accepted; what it was, in order."""
    told = []
    for _ in range(50):
        async with core.db.connection() as connection:
            claimed = await lanes.claim(connection, [Wish(endpoint, 100, probe=False)])
            await lanes.settle_many(connection, [Settled(c, "accepted", None, 200, None, 1, "") for c in claimed])
        if not claimed:
            return told
        told += [lane.event_id for lane in claimed]
    raise AssertionError("it does not end")


async def happened(core: Core, shipment: str, ago: timedelta) -> None:
    """All about a shipment occurred that much earlier."""
    await change(
        core, "UPDATE events SET occurred_at = occurred_at - $2::interval WHERE shipment_id = $1", shipment, ago
    )


async def test_one_event_is_sent_again_with_the_same_id(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    shipment = await shop.reserved("A", "loaded", "picked_up")
    await tell_all(shop.core, endpoint)
    _, loaded, _ = await event_ids(shop.core, [shipment])
    assert await replay_event(shop.core, shop.caller, endpoint, loaded)
    assert await tell_all(shop.core, endpoint) == [loaded]


async def test_a_replayed_event_takes_its_place_among_those_that_wait(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    shipment = await shop.reserved("A")
    await tell_all(shop.core, endpoint)
    await shop.simulate(shipment, "expired")
    (first, *_) = await event_ids(shop.core, [shipment])
    assert await waiting(shop.core, shop.tenant) == [(endpoint, shipment, [2, 3])]
    assert await replay_event(shop.core, shop.caller, endpoint, first)
    assert await waiting(shop.core, shop.tenant) == [(endpoint, shipment, [1, 2, 3])]
    assert await tell_all(shop.core, endpoint) == await event_ids(shop.core, [shipment])


async def test_what_waits_already_waits_once_and_is_due_at_once_with_all_its_attempts(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    shipment = await shop.reserved("A", "expired")
    await change(
        shop.core,
        "UPDATE webhook_lanes SET attempts = 9, due_at = now() + interval '1 day' WHERE shipment_id = $1",
        shipment,
    )
    for event_id in await event_ids(shop.core, [shipment]):
        assert await replay_event(shop.core, shop.caller, endpoint, event_id)
    await replay_since(shop.core, shop.caller, endpoint, LONG_AGO, silent)
    rows = await fetch(
        shop.core, "SELECT waiting, attempts, due_at <= now() FROM webhook_lanes WHERE shipment_id = $1", shipment
    )
    assert rows == [([1, 2, 3], 0, True)]


@pytest.mark.parametrize("batch", [1, 2, 3, 1000])
async def test_all_since_a_time_over_any_number_of_pages_in_order(
    shop: Shop, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "BATCH", batch)
    endpoint = (await subscribe(shop)).id
    made = [
        await shop.reserved(order, *events)
        for order, events in [("A", ("expired",)), ("B", ()), ("C", ("loaded", "picked_up"))]
    ]
    await tell_all(shop.core, endpoint)
    counts: list[int] = []
    since = datetime.now(UTC) - timedelta(hours=1)
    assert await replay_since(shop.core, shop.caller, endpoint, since, lambda count, _: counts.append(count)) == 7
    assert counts[-1] == 7
    assert counts == sorted(counts)
    assert len(counts) == -(-7 // batch)
    lanes_now = {shipment: sequences for _, shipment, sequences in await waiting(shop.core, shop.tenant)}
    assert lanes_now == {made[0]: [1, 2, 3], made[1]: [1], made[2]: [1, 2, 3]}
    told = await tell_all(shop.core, endpoint)
    assert sorted(told) == sorted(await event_ids(shop.core, made))
    for shipment in made:
        in_order = await event_ids(shop.core, [shipment])
        assert [event_id for event_id in told if event_id in in_order] == in_order


async def test_what_occurred_before_the_time_is_left_out(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "BATCH", 2)
    endpoint = (await subscribe(shop)).id
    older, old = await shop.reserved("A", "expired"), await shop.reserved("B", "expired")
    new = await shop.reserved("C", "expired")
    await tell_all(shop.core, endpoint)
    await happened(shop.core, older, timedelta(days=9))
    await happened(shop.core, old, timedelta(days=2))
    since = datetime.now(UTC) - timedelta(hours=1)
    pages: list[datetime] = []
    assert await replay_since(shop.core, shop.caller, endpoint, since, lambda _, latest: pages.append(latest)) == 3
    assert await waiting(shop.core, shop.tenant) == [(endpoint, new, [1, 2, 3])]
    assert len(pages) < 5, "it stops when it has come to what is older"


async def test_only_the_types_that_the_endpoint_subscribes_to_are_sent_again(shop: Shop) -> None:
    endpoint = (await subscribe(shop, "https://a.example", Event.EXPIRED)).id
    shipment = await shop.reserved("A", "expired")
    await tell_all(shop.core, endpoint)
    assert await replay_since(shop.core, shop.caller, endpoint, LONG_AGO, silent) == 1
    assert await waiting(shop.core, shop.tenant) == [(endpoint, shipment, [2])]


async def test_one_endpoint_is_told_again_and_no_other(shop: Shop, other_shop: Shop) -> None:
    endpoint, beside = (await subscribe(shop)).id, (await subscribe(shop)).id
    foreign = (await subscribe(other_shop)).id
    mine, theirs = await shop.reserved("A"), await other_shop.reserved("A")
    for one in (endpoint, beside, foreign):
        await tell_all(shop.core, one)
    assert await replay_since(shop.core, shop.caller, endpoint, LONG_AGO, silent) == 1
    assert await waiting(shop.core, shop.tenant) == [(endpoint, mine, [1])]
    assert await waiting(shop.core, other_shop.tenant) == []
    (their_event,) = await event_ids(shop.core, [theirs])
    assert not await replay_event(shop.core, shop.caller, endpoint, their_event)
    assert not await replay_event(shop.core, shop.caller, endpoint, "evt_c1_none")


async def test_nothing_is_put_on_lanes_of_an_endpoint_that_is_not_the_tenants(shop: Shop, other_shop: Shop) -> None:
    foreign, gone = (await subscribe(other_shop)).id, (await subscribe(shop)).id
    shipment = await shop.reserved("A")
    await tell_all(shop.core, gone)
    await change(shop.core, "UPDATE webhook_endpoints SET removed_at = now() WHERE id = $1", gone)
    (event_id,) = await event_ids(shop.core, [shipment])
    for endpoint in (foreign, gone, "whe_c1_none"):
        assert not await replay_event(shop.core, shop.caller, endpoint, event_id)
        assert await replay_since(shop.core, shop.caller, endpoint, LONG_AGO, silent) == 0
    assert await waiting(shop.core, shop.tenant) == []


async def test_a_replay_of_a_tenant_that_told_nothing_ends_at_once(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    assert await replay_since(shop.core, shop.caller, endpoint, LONG_AGO, silent) == 0


async def test_what_happened_before_the_endpoint_was_there_can_be_sent_too(shop: Shop) -> None:
    shipment = await shop.reserved("A", "expired")
    endpoint = (await subscribe(shop)).id
    assert await waiting(shop.core, shop.tenant) == []
    assert await replay_since(shop.core, shop.caller, endpoint, LONG_AGO, silent) == 3
    assert await tell_all(shop.core, endpoint) == await event_ids(shop.core, [shipment])


async def test_a_replay_while_a_delivery_is_under_way_sends_it_again(shop: Shop) -> None:
    """Whoever was delivering has lost the lane: at least once, never not at all."""
    endpoint = (await subscribe(shop)).id
    shipment = await shop.reserved("A")
    async with shop.core.db.connection() as connection:
        (under_way,) = await lanes.claim(connection, [Wish(endpoint, 1, probe=False)])
        assert await replay_event(shop.core, shop.caller, endpoint, under_way.event_id)
        await lanes.settle_many(connection, [Settled(under_way, "accepted", None, 200, None, 1, "")])
    assert await waiting(shop.core, shop.tenant) == [(endpoint, shipment, [1])]
    assert await tell_all(shop.core, endpoint) == [under_way.event_id]
