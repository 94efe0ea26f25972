"""Entries that wait for their commit: of each box in order, among the boxes in turns."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from pickupbox.devices import waiting
from pickupbox.devices.messages import Journaled
from pickupbox.devices.waiting import Waiting
from pickupbox.domain.doors import Happening


def entry(seq: int) -> Journaled:
    return Journaled(id=f"m-{seq}", at=datetime.now(UTC), boot="b", seq=seq, happening=Happening.STARTED)


def seqs(batch: Sequence[tuple[str, Journaled]]) -> list[tuple[str, int]]:
    return [(device, one.seq) for device, one in batch]


async def test_a_batch_has_one_entry_of_each_box_and_each_box_keeps_its_order() -> None:
    line = Waiting()
    for device, seq in (("A", 1), ("A", 2), ("A", 3), ("B", 1), ("C", 1), ("C", 2)):
        line.put(device, entry(seq))
    taken = []
    for _ in range(3):
        async with line.batch() as batch:
            taken.append(seqs(batch))
    assert taken == [[("A", 1), ("B", 1), ("C", 1)], [("A", 2), ("C", 2)], [("A", 3)]]


async def test_a_box_with_many_entries_holds_up_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "BATCH", 1)
    line = Waiting()
    for device, seq in (("A", 1), ("A", 2), ("B", 1)):
        line.put(device, entry(seq))
    taken = []
    for _ in range(3):
        async with line.batch() as batch:
            taken += seqs(batch)
    assert taken == [("A", 1), ("B", 1), ("A", 2)]


async def test_two_batches_that_are_taken_at_once_share_no_box() -> None:
    line = Waiting()
    line.put("A", entry(1))
    line.put("A", entry(2))
    async with line.batch() as first:
        line.put("A", entry(3))
        line.put("B", entry(1))
        async with line.batch() as second:
            assert (seqs(first), seqs(second)) == ([("A", 1)], [("B", 1)])

        async def next_one() -> list[tuple[str, int]]:
            async with line.batch() as third:
                return seqs(third)

        waits = asyncio.create_task(next_one())
        assert not (await asyncio.wait([waits], timeout=0.05))[0]
    assert await asyncio.wait_for(waits, 1) == [("A", 2)]
    assert await asyncio.wait_for(next_one(), 1) == [("A", 3)]


async def test_what_is_too_much_is_left_to_be_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "ENTRIES", 2)
    line = Waiting()
    for seq in (1, 2, 3):
        line.put("A", entry(seq))
    async with line.batch() as batch:
        assert seqs(batch) == [("A", 1)]
        line.put("A", entry(4))
    async with line.batch() as batch:
        assert seqs(batch) == [("A", 2)]
    async with line.batch() as batch:
        assert seqs(batch) == [("A", 4)]  # 3 never came


async def test_a_box_that_floods_takes_no_place_from_another() -> None:
    line, flood, good = Waiting(), entry(1), 0
    for _ in range(100):
        for _ in range(waiting.ENTRIES + 1000):
            if line.put("flooder", flood) is False:
                break
        line.put("good", entry(2))
        async with line.batch() as batch:
            good += ("good", 2) in seqs(batch)
    assert good == 100


async def test_a_box_that_has_none_waiting_has_a_place_when_many_have_taken_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "ENTRIES", 4)
    line = Waiting()
    assert [line.put(device, entry(seq)) for device in "AB" for seq in (1, 2)] == [True] * 4
    assert [line.put("C", entry(seq)) for seq in (1, 2)] == [True, False]
    assert not line.put("A", entry(3))
    async with line.batch() as batch:
        assert seqs(batch) == [("A", 1), ("B", 1), ("C", 1)]
