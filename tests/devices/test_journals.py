"""Journals of boxes: each entry counts once and in order, and moves only the shipment that it is about."""

import asyncio
from dataclasses import replace

import asyncpg
import pytest

from pickupbox.database.aside import Unread
from pickupbox.domain.doors import Happening
from pickupbox.domain.lifecycle import Stage
from pickupbox.telemetry import HAPPENINGS
from pickupbox.usecases.core import Core
from pickupbox.usecases.doors import Taken, take_entries, take_past
from tests.devices.street import Journal, add_device, ask, command_for, outcome_of, revoke, stage_of
from tests.support.shop import Shop

OPENED, CLOSED = Happening.DOOR_OPENED, Happening.DOOR_CLOSED


async def seq_of(journal: Journal, core: Core) -> int:
    rows = await ask(core, "SELECT seq FROM journals WHERE device_id = $1 AND boot = $2", journal.device, journal.boot)
    return rows[0][0] if rows else 0


async def test_a_duplicate_or_old_entry_is_acknowledged_and_changes_nothing(shop: Shop, journal: Journal) -> None:
    shipment = await shop.reserved()
    code, command = await command_for(shop, journal, shipment)
    entries = [journal.write(OPENED, code, command), journal.write(CLOSED, code, command)]
    for entry in entries:
        await take_entries(shop.core, [entry])
    before = await ask(shop.core, "SELECT stage, trail, event_count FROM shipments WHERE id = $1", shipment)
    for entry in (*entries, entries[0], entries[1]):
        assert await take_entries(shop.core, [entry]) == [Taken(2)]
    assert await ask(shop.core, "SELECT stage, trail, event_count FROM shipments WHERE id = $1", shipment) == before


async def test_one_entry_sent_many_times_at_once_counts_once(shop: Shop, journal: Journal) -> None:
    shipment = await shop.reserved()
    code, command = await command_for(shop, journal, shipment)
    await journal.tell(Happening.STARTED)
    entry = journal.write(OPENED, code, command)
    taken = HAPPENINGS.labels(OPENED)._value
    before = taken.get()
    answers = await asyncio.gather(*(take_entries(shop.core, [entry]) for _ in range(10)))
    assert answers == [[Taken(2)]] * 10
    assert taken.get() - before == 1


async def test_a_gap_is_told_and_nothing_is_skipped(shop: Shop, journal: Journal) -> None:
    shipment = await shop.reserved()
    code, command = await command_for(shop, journal, shipment)
    first, second, third = (
        journal.write(Happening.UNLOCKED, code, command),
        journal.write(OPENED, code, command),
        journal.write(CLOSED, code, command),
    )
    assert await take_entries(shop.core, [third]) == [Taken(0, gap=True)]
    await take_entries(shop.core, [first])
    assert await take_entries(shop.core, [third]) == [Taken(1, gap=True)]
    assert await stage_of(shop.core, shipment) == Stage.RESERVED
    assert await take_entries(shop.core, [second]) == [Taken(2)]
    assert await take_entries(shop.core, [third]) == [Taken(3)]
    assert await stage_of(shop.core, shipment) == Stage.PROTECTED


async def test_a_new_journal_begins_at_one_and_a_late_duplicate_of_the_old_changes_nothing(
    shop: Shop, journal: Journal
) -> None:
    shipment = await shop.reserved()
    code, command = await command_for(shop, journal, shipment)
    old = [journal.write(OPENED, code, command), journal.write(CLOSED, code, command)]
    for entry in old:
        await take_entries(shop.core, [entry])
    new = Journal(shop.core, journal.device)
    assert await new.tell(Happening.STARTED) == Taken(1)
    assert await take_entries(shop.core, old[:1]) == [Taken(2)]
    assert await stage_of(shop.core, shipment) == Stage.PROTECTED
    assert await take_entries(shop.core, [replace(new.write(OPENED, code), seq=5)]) == [Taken(1, gap=True)]


async def test_an_unknown_or_revoked_device_is_ignored(shop: Shop, journal: Journal) -> None:
    shipment = await shop.reserved()
    code, command = await command_for(shop, journal, shipment)
    await revoke(shop, journal.device)
    stranger = Journal(shop.core, shop.core.new_id("dev"))
    assert await journal.tell(OPENED, code, command) is None
    assert await stranger.tell(OPENED, code, command) is None
    assert await stage_of(shop.core, shipment) == Stage.RESERVED
    assert (
        await ask(shop.core, "SELECT 1 FROM journals WHERE device_id = ANY ($1)", [journal.device, stranger.device])
        == []
    )


async def test_entries_of_many_boxes_are_taken_in_one_commit(shop: Shop) -> None:
    told = []
    for number in range(5):
        box_id = await shop.add_box()
        journal = Journal(shop.core, await add_device(shop, box_id))
        shipment = await shop.reserved(f"order-{number}", box_id=box_id)
        code, command = await command_for(shop, journal, shipment)
        told.append((shipment, journal, journal.write(OPENED, code, command)))
    late = replace(told[0][2], device_id=told[1][1].device, boot="late", seq=7)
    answers = await take_entries(shop.core, [*(entry for _, _, entry in told), late])
    assert answers == [Taken(1)] * 5 + [Taken(0, gap=True)]
    assert {await stage_of(shop.core, shipment) for shipment, _, _ in told} == {Stage.LOADING}
    assert len(await ask(shop.core, "SELECT DISTINCT xmin::text FROM journals WHERE seq = 1 AND device_id = ANY ($1)",
                         [journal.device for _, journal, _ in told])) == 1  # fmt: skip


async def test_an_entry_that_cannot_be_applied_is_set_aside_once_and_the_journal_goes_on(
    shop: Shop, journal: Journal
) -> None:
    shipment = await shop.reserved()
    code, command = await command_for(shop, journal, shipment)
    bad = journal.write(OPENED, code, command)
    unread = Unread(f"of {journal.device}", b"{}", "why")
    early = replace(bad, seq=2)
    assert await take_past(shop.core, early, unread) == Taken(0, gap=True)
    assert [await take_past(shop.core, bad, unread) for _ in range(2)] == [Taken(1)] * 2
    assert await ask(shop.core, "SELECT reason FROM set_aside WHERE topic = $1", unread.topic) == [("why",)]
    assert await seq_of(journal, shop.core) == 1
    assert await journal.tell(Happening.UNLOCKED, code, command) == Taken(2)


async def test_what_cannot_be_applied_leaves_nothing_behind(shop: Shop, journal: Journal) -> None:
    """A step that breaks a rule of the database takes the door, the outcome and the progress back with it."""
    shipment = await shop.reserved()
    code, command = await command_for(shop, journal, shipment)
    async with shop.core.db.connection() as connection:
        await connection.execute(
            f"ALTER TABLE shipments ADD CONSTRAINT planted CHECK (id <> '{shipment}' OR stage = 'reserved')"
        )
    try:
        with pytest.raises(asyncpg.CheckViolationError):
            await journal.tell(OPENED, code, command)
    finally:
        async with shop.core.db.connection() as connection:
            await connection.execute("ALTER TABLE shipments DROP CONSTRAINT planted")
    assert await seq_of(journal, shop.core) == 0
    assert await outcome_of(shop.core, command) is None
    assert await ask(shop.core, "SELECT 1 FROM doors WHERE box_id = $1", shop.box_id) == []
