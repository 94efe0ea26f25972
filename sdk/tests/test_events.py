"""Reading on in the events: all of them, once, in order, however the pages fall and whatever is lost."""

import asyncio
import json
from typing import Any

import pytest

from pickupbox_sdk import ConnectionFailed, Event, EventNotFound, EventPage, TemporarilyUnavailable
from pickupbox_sdk.testing import Sandbox


def orders(sandbox: Sandbox, first: int, last: int) -> None:
    box = sandbox.add_box("Large", compartments=100).id
    with sandbox.client() as shop:
        for number in range(first, last):
            shop.create_shipment(box, f"order-{number}")


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 100])
def test_every_event_comes_once_and_in_order(pickupbox_sandbox: Sandbox, limit: int) -> None:
    orders(pickupbox_sandbox, 0, 7)
    shop = pickupbox_sandbox.client()
    told = [event.data.external_order_id for event in shop.events(limit=limit)]
    assert told == [f"order-{number}" for number in range(7)]


def test_reading_goes_on_from_an_event(pickupbox_sandbox: Sandbox) -> None:
    orders(pickupbox_sandbox, 0, 5)
    shop = pickupbox_sandbox.client()
    events = list(shop.events())
    assert list(shop.events(after=events[1].id, limit=2)) == events[2:]
    assert list(shop.events(after=events[-1].id)) == []


def test_an_event_that_is_not_known_is_refused(pickupbox_sandbox: Sandbox) -> None:
    with pytest.raises(EventNotFound):
        next(pickupbox_sandbox.client().events(after="evt_unknown"))


def test_nothing_is_asked_for_before_it_is_needed(pickupbox_sandbox: Sandbox) -> None:
    orders(pickupbox_sandbox, 0, 4)
    shop = pickupbox_sandbox.client(max_retries=0)
    reading = shop.events(limit=2)
    next(reading), next(reading)
    pickupbox_sandbox.fail_next(ConnectionFailed)
    with pytest.raises(ConnectionFailed):
        next(reading)


def test_following_sees_what_comes_later_and_ends_when_nothing_does(pickupbox_sandbox: Sandbox) -> None:
    orders(pickupbox_sandbox, 0, 2)
    shop = pickupbox_sandbox.client()
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            orders(pickupbox_sandbox, 2, 4)

    shop = pickupbox_sandbox.client(sleep=sleep)
    told = [event.data.external_order_id for event in shop.events(follow=True, poll_seconds=2, idle_timeout=9)]
    assert told == [f"order-{number}" for number in range(4)]
    assert waits == [2, 2, 2, *[2] * 4, 1]


def test_following_without_an_idle_timeout_goes_on_until_it_is_left(pickupbox_sandbox: Sandbox) -> None:
    polls = 0

    def sleep(_: float) -> None:
        nonlocal polls
        polls += 1
        if polls == 1000:
            orders(pickupbox_sandbox, 0, 1)

    for event in pickupbox_sandbox.client(sleep=sleep).events(follow=True):
        assert event.data.external_order_id == "order-0"
        break
    assert polls == 1000


@pytest.mark.parametrize("poll_seconds", [0, 0.01, -1, 4000])
def test_polling_has_bounds(pickupbox_sandbox: Sandbox, poll_seconds: float) -> None:
    with pytest.raises(ValueError, match="poll_seconds"):
        next(pickupbox_sandbox.client().events(follow=True, poll_seconds=poll_seconds))


def test_lost_answers_lose_no_event_and_double_none(pickupbox_sandbox: Sandbox) -> None:
    orders(pickupbox_sandbox, 0, 20)
    shop = pickupbox_sandbox.client()
    told: list[Event] = []
    for event in shop.events(limit=3):
        told.append(event)
        if len(told) % 3 == 0:  # before each page
            pickupbox_sandbox.lose_next_answer(times=2)
            pickupbox_sandbox.fail_next(TemporarilyUnavailable, retry_after=1)
    assert [event.data.external_order_id for event in told] == [f"order-{number}" for number in range(20)]


def test_the_async_client_reads_the_same(pickupbox_sandbox: Sandbox) -> None:
    orders(pickupbox_sandbox, 0, 7)

    async def main() -> list[Event]:
        async with pickupbox_sandbox.async_client() as shop:
            return [event async for event in shop.events(limit=3, follow=True, idle_timeout=5)]

    assert asyncio.run(main()) == list(pickupbox_sandbox.client().events())


def test_a_page_has_the_bytes_of_each_event(pickupbox_sandbox: Sandbox) -> None:
    shop = pickupbox_sandbox.client()
    for order in ("plain", 'é " \\ 📦', '"items":[{', "}],[{"):
        shop.create_shipment(pickupbox_sandbox.box.id, order)
    page = shop.list_events()
    assert all(body in page.answered for body in page.bodies())
    assert [Event.from_json(json.loads(body)) for body in page.bodies()] == page.items
    assert shop.list_events(page.items[-1].id).bodies() == []


@pytest.mark.parametrize("written", [{"indent": 2}, {"separators": (", ", " : ")}, {}])
def test_bodies_are_found_however_the_answer_is_written(pickupbox_sandbox: Sandbox, written: dict[str, Any]) -> None:
    orders(pickupbox_sandbox, 0, 3)
    items = json.loads(pickupbox_sandbox.client().list_events().answered)["items"]
    for answer in ({"items": items, "has_more": False}, {"has_more": False, "items": items}):
        page = EventPage.from_json(answer, json.dumps(answer, **written).encode())
        assert [json.loads(body) for body in page.bodies()] == items
