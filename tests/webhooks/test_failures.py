"""Endpoints that do nothing but fail: one row each, backed off as a whole, probed by one, forgiven by one success."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from pickupbox.database import endpoints, failures, lanes
from pickupbox.database.failures import Failed
from pickupbox.database.lanes import Turn, Wish
from pickupbox.usecases.core import Core
from pickupbox.usecases.endpoints import tend_endpoints
from pickupbox.webhooks.schedule import BACK_OFF
from tests.support.shop import Shop
from tests.support.waiting import until
from tests.webhooks.receiving import Receiver, always, change, delivering, fetch, subscribe, waiting


async def fail(core: Core, endpoint: str, times: int = 1, pause: float | None = None) -> None:
    async with core.db.connection() as connection:
        await failures.note(connection, [Failed(endpoint, times, pause)], BACK_OFF)


async def back_off(core: Core, endpoint: str) -> tuple[int, float | None] | None:
    """How often it failed in a row, and in how many seconds it is tried again."""
    rows = await fetch(
        core,
        "SELECT failures, extract(epoch FROM resume_at - now())::float FROM webhook_failures WHERE endpoint_id = $1",
        endpoint,
    )
    assert len(rows) <= 1
    return rows[0] if rows else None


async def turn_of(core: Core, endpoint: str) -> Turn | None:
    async with core.db.connection() as connection:
        turns, _ = await lanes.turns(connection, "", 10_000)
    found = [turn for turn in turns if turn.endpoint_id == endpoint]
    return found[0] if found else None


async def probe(core: Core, endpoint: str) -> Sequence[lanes.Claimed]:
    async with core.db.connection() as connection:
        return await lanes.claim(connection, [Wish(endpoint, 1, probe=True)])


async def let_resume(core: Core, endpoint: str) -> None:
    await change(
        core, "UPDATE webhook_failures SET resume_at = now() - interval '1 s' WHERE endpoint_id = $1", endpoint
    )


def test_the_patience_is_five_and_the_back_off_goes_from_five_seconds_to_five_minutes() -> None:
    assert failures.BackOff(5, timedelta(seconds=5), timedelta(minutes=5)) == BACK_OFF


async def test_four_failures_in_a_row_are_counted_and_the_fifth_backs_off(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    for number in range(1, 5):
        await fail(shop.core, endpoint)
        assert await back_off(shop.core, endpoint) == (number, None)
    await fail(shop.core, endpoint)
    failed, wait = await back_off(shop.core, endpoint) or (0, None)
    assert failed == 5
    assert wait is not None
    assert 3.9 <= wait <= 6


async def test_several_failures_that_come_together_count_each(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    await fail(shop.core, endpoint, times=7)
    failed, wait = await back_off(shop.core, endpoint) or (0, None)
    assert (failed, wait) == (7, pytest.approx(5, abs=1.2))


@pytest.mark.parametrize(("failing", "expected"), [(0, 5), (4, 5), (40, 40), (200, 200), (300, 300), (864000, 300)])
async def test_it_waits_as_long_as_it_has_been_failing_from_five_seconds_to_five_minutes(
    shop: Shop, failing: int, expected: int
) -> None:
    endpoint = (await subscribe(shop)).id
    await fail(shop.core, endpoint, times=5)
    await failing_for(shop.core, endpoint, failing / 86400)
    await let_resume(shop.core, endpoint)
    await fail(shop.core, endpoint)
    _, wait = await back_off(shop.core, endpoint) or (0, None)
    assert wait == pytest.approx(expected, rel=0.21, abs=0.5)


async def test_a_failed_probe_waits_as_the_back_off_says_and_not_as_its_lease(shop: Shop, receiver: Receiver) -> None:
    receiver.reply = always(500)
    endpoint = (await subscribe(shop, receiver.url)).id
    await shop.reserved("A")
    await fail(shop.core, endpoint, times=5)
    await failing_for(shop.core, endpoint, 10 / 86400)
    await let_resume(shop.core, endpoint)

    async def failed_again() -> bool:
        return (await back_off(shop.core, endpoint) or (0, None))[0] == 6

    async with delivering(shop.core, schedule=(0, 60)):
        await until(failed_again, 5)
    _, wait = await back_off(shop.core, endpoint) or (0, None)
    assert wait is not None
    assert 7 <= wait <= 16


async def test_while_an_endpoint_backs_off_all_its_lanes_wait_by_that_one_row(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    for order in "ABC":
        await shop.reserved(order)
    await fail(shop.core, endpoint, times=5)
    turn = await turn_of(shop.core, endpoint)
    assert turn is not None
    assert turn.due_in <= 0
    assert turn.failing
    assert turn.resume_in is not None
    assert turn.resume_in > 3
    assert await probe(shop.core, endpoint) == []
    assert len(await waiting(shop.core, shop.tenant)) == 3


async def test_one_worker_of_several_wins_the_probe(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    for order in "ABC":
        await shop.reserved(order)
    await fail(shop.core, endpoint, times=5)
    await let_resume(shop.core, endpoint)
    claims = await asyncio.gather(*(probe(shop.core, endpoint) for _ in range(6)))
    assert sorted(len(claimed) for claimed in claims) == [0, 0, 0, 0, 0, 1]
    assert [claimed[0].failing for claimed in claims if claimed] == [True]


async def test_a_probe_that_waited_for_another_one_sees_that_it_came_second(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    for order in "AB":
        await shop.reserved(order)
    await fail(shop.core, endpoint, times=5)
    await let_resume(shop.core, endpoint)
    async with shop.core.db.transaction() as tx:
        assert len(await lanes.claim(tx, [Wish(endpoint, 1, probe=True)])) == 1
        second = asyncio.create_task(probe(shop.core, endpoint))
        await asyncio.wait([second], timeout=0.2)
        assert not second.done()
    assert await asyncio.wait_for(second, 5) == []


async def test_one_acceptance_forgets_and_the_count_begins_anew(shop: Shop) -> None:
    endpoint, other = (await subscribe(shop)).id, (await subscribe(shop)).id
    await fail(shop.core, endpoint, times=4)
    await fail(shop.core, other, times=4)
    async with shop.core.db.connection() as connection:
        await failures.forget(connection, [endpoint])
    assert await back_off(shop.core, endpoint) is None
    await fail(shop.core, endpoint)
    assert await back_off(shop.core, endpoint) == (1, None)
    assert await back_off(shop.core, other) == (4, None)


async def test_a_pause_that_was_asked_for_holds_the_endpoint_at_the_first_failure(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    await fail(shop.core, endpoint, pause=600)
    assert await back_off(shop.core, endpoint) == (1, pytest.approx(600, abs=2))
    for number in (2, 3, 4, 5, 6):  # what was under way beside it and fails now
        await fail(shop.core, endpoint)
        assert await back_off(shop.core, endpoint) == (number, pytest.approx(600, abs=2)), "a pause is not cut short"


async def test_notes_and_forgiveness_side_by_side_do_not_wait_in_a_circle(shop: Shop) -> None:
    ids = [(await subscribe(shop)).id for _ in range(5)]

    async def note(order: list[str]) -> None:
        async with shop.core.db.connection() as connection:
            await failures.note(connection, [Failed(endpoint, 1, None) for endpoint in order], BACK_OFF)

    async def forget(order: list[str]) -> None:
        async with shop.core.db.connection() as connection:
            await failures.forget(connection, order)

    async with asyncio.timeout(20):
        for _ in range(20):
            await asyncio.gather(note(ids), note(ids[::-1]), forget(ids[::-1]), forget(ids), note(ids[2:] + ids[:2]))


async def failing_for(core: Core, endpoint: str, days: float) -> None:
    await change(
        core,
        "UPDATE webhook_failures SET failing_since = now() - make_interval(secs => $2) WHERE endpoint_id = $1",
        endpoint,
        days * 86400,
    )


async def test_five_days_of_nothing_but_failure_disable_and_less_does_not(shop: Shop) -> None:
    hopeless, hopeful = (await subscribe(shop)).id, (await subscribe(shop)).id
    shipment = await shop.reserved("A")
    for endpoint, days in ((hopeless, 5.01), (hopeful, 4.99)):
        await fail(shop.core, endpoint, times=9)
        await failing_for(shop.core, endpoint, days)
    await tend_endpoints(shop.core)
    async with shop.core.db.connection() as connection:
        states = {e.id: (e.enabled, e.disabled_because) for e in await endpoints.list_all(connection, shop.tenant)}
    assert states == {hopeless: (False, "it did nothing but fail for 5 days"), hopeful: (True, None)}
    assert (hopeless, shipment, [1]) in await waiting(shop.core, shop.tenant), "what waits stays"
    assert await turn_of(shop.core, hopeless) is None


async def test_a_success_in_between_resets_the_five_days(shop: Shop) -> None:
    endpoint = (await subscribe(shop)).id
    await fail(shop.core, endpoint)
    await failing_for(shop.core, endpoint, 6)
    async with shop.core.db.connection() as connection:
        await failures.forget(connection, [endpoint])
    await fail(shop.core, endpoint)
    await tend_endpoints(shop.core)
    assert await fetch(shop.core, "SELECT enabled FROM webhook_endpoints WHERE id = $1", endpoint) == [(True,)]
