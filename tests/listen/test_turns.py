"""Whose turn it is: random histories of accepting and refusing, and what must hold in each."""

import json
import random
from datetime import UTC, datetime
from typing import Any

import pytest
from pickupbox_sdk import Event

from pickupbox.desk.turns import Told, Turns
from pickupbox.domain.lifecycle import Event as Kind
from pickupbox.webhooks.bodies import example_of


def told(number: int, shipment: str) -> Told:
    event_id = f"evt_{number:03}"
    body: dict[str, Any] = json.loads(example_of("c1", event_id, Kind.LOADED, datetime(2026, 11, 15, tzinfo=UTC)))
    body["data"]["shipment_id"] = shipment
    return Told(Event.from_json(body), json.dumps(body).encode(), None)


@pytest.mark.parametrize("seed", range(50))
def test_each_shipment_is_told_in_order_and_the_place_never_passes_what_is_open(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    events = [told(number, f"shp_{chance.randrange(5)}") for number in range(60)]
    turns, unread, settled, now = Turns(None), list(events), [], 0.0
    while len(settled) < len(events):
        now += chance.choice([0.0, 0.0, 1.0])
        if unread and chance.random() < 0.5:
            turns.add(unread.pop(0))
        turn = turns.next(now)
        if turn is None:
            assert unread or turns.wait(now)
        elif chance.random() < 0.3:
            turns.again(turn, now + chance.uniform(0, 3))
        else:
            turns.settle(turn)
            settled.append(turn)
        open_ones = [one.event.id for one in events if one not in settled]
        done = [one.event.id for one in events if not open_ones or one.event.id < open_ones[0]]
        assert turns.after == (done[-1] if done else None)
        assert len(turns) == len(events) - len(unread) - len(done)
    for shipment in {one.event.data.shipment_id for one in events}:
        order = [one.event.id for one in settled if one.event.data.shipment_id == shipment]
        assert order == sorted(order)
    assert turns.wait(now) is None


def test_one_that_was_refused_lets_others_pass_but_not_its_own() -> None:
    turns = Turns("evt_before")
    first, second, other = told(1, "A"), told(2, "A"), told(3, "B")
    for one in (first, second, other):
        turns.add(one)
    assert (turns.next(0), turns.waiting) == (first, 3)
    turns.again(first, 5.0)
    assert (turns.next(0), turns.wait(1), turns.attempts(first)) == (other, 4.0, 1)
    turns.settle(other)
    assert (turns.next(4.9), turns.after, len(turns)) == (None, "evt_before", 3)
    assert turns.next(5.0) is first
    turns.settle(first)
    assert (turns.next(5.0), turns.after) == (second, "evt_001")
    turns.settle(second)
    assert (turns.after, len(turns)) == ("evt_003", 0)
