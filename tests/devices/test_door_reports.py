"""What boxes report is kept as history, in the commit of the report, each entry once."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import asyncpg
import pytest

from pickupbox.database import door_reports
from pickupbox.devices.messages import Presence
from pickupbox.domain.doors import Happening
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from pickupbox.usecases.doors import take_entries
from pickupbox.usecases.removal import open_for_removal
from tests.devices.street import Journal, add_device, ask, box_at, command_for, gateway, operator, revoke
from tests.support.shop import Shop


async def kept(core: Core, device: str) -> list[tuple[object, ...]]:
    return await ask(
        core,
        """
        SELECT seq, happening, code, command_id, purpose, shipment_id, reason FROM door_reports
        WHERE device_id = $1 ORDER BY seq
        """,
        device,
    )


async def test_every_entry_is_kept_with_its_command_purpose_and_shipment(shop: Shop, journal: Journal) -> None:
    shipment = await shop.reserved("A")
    code, command = await command_for(shop, journal, shipment)
    await journal.tell(Happening.STARTED)
    await journal.tell(Happening.UNLOCKED, code, command)
    await journal.cycle(code, command)
    assert await kept(shop.core, journal.device) == [
        (1, "started", None, None, None, None, None),
        (2, "unlocked", code, command, "load", shipment, None),
        (3, "door_opened", code, command, "load", shipment, None),
        (4, "door_closed", code, command, "load", shipment, None),
    ]


async def test_a_door_that_nobody_commanded_is_about_the_shipment_behind_it(shop: Shop, journal: Journal) -> None:
    shipment = await shop.reserved("A")
    ((code,),) = await ask(shop.core, "SELECT compartment_code FROM shipments WHERE id = $1", shipment)
    await journal.tell(Happening.DOOR_OPENED, code)
    await journal.tell(Happening.DOOR_OPENED, "B6")
    assert await kept(shop.core, journal.device) == [
        (1, "door_opened", code, None, None, shipment, None),
        (2, "door_opened", "B6", None, None, None, None),
    ]


async def test_a_command_of_another_box_says_nothing_about_this_one(
    shop: Shop, other_shop: Shop, journal: Journal
) -> None:
    theirs = await other_shop.reserved("A", "fault")
    await add_device(other_shop)
    command = await open_for_removal(other_shop.core, operator(other_shop), theirs)
    await journal.tell(Happening.UNLOCKED, "A1", command.id)
    assert await kept(shop.core, journal.device) == [(1, "unlocked", "A1", command.id, None, None, None)]


async def test_an_entry_that_comes_twice_or_too_early_is_not_kept_again(shop: Shop, journal: Journal) -> None:
    first = journal.write(Happening.DOOR_OPENED, "A1")
    await take_entries(shop.core, [first])
    await take_entries(shop.core, [first])
    journal.seq += 5
    await take_entries(shop.core, [journal.write(Happening.DOOR_CLOSED, "A1")])
    assert [seq for seq, *_ in await kept(shop.core, journal.device)] == [1]


async def test_the_same_entry_in_one_moment_is_refused_by_the_table(shop: Shop, journal: Journal) -> None:
    report = door_reports.Report(
        shop.tenant, shop.box_id, journal.device, "boot", 1, None, "started", None, None, None, None, None
    )
    async with shop.core.db.connection() as connection:
        with pytest.raises(asyncpg.UniqueViolationError):
            await door_reports.insert(connection, [report, report])


async def test_a_report_of_a_revoked_device_is_not_kept(shop: Shop, journal: Journal) -> None:
    await revoke(shop, journal.device)
    await journal.tell(Happening.DOOR_OPENED, "A1")
    assert await kept(shop.core, journal.device) == []


async def test_the_newest_of_a_box_come_first_and_no_more_than_thirty(shop: Shop, journal: Journal) -> None:
    for _ in range(18):
        await journal.cycle("A1", None)
    other = await shop.add_box()
    async with shop.core.db.connection() as connection:
        newest = await door_reports.list_newest(connection, [(shop.tenant, shop.box_id), (shop.tenant, other)])
        foreign = await door_reports.list_newest(connection, [("ten_other", shop.box_id)])
    assert [told.seq for told in newest[shop.tenant, shop.box_id]] == list(range(36, 6, -1))
    assert newest[shop.tenant, other] == []
    assert foreign == {("ten_other", shop.box_id): []}


async def test_history_keeps_when_the_box_says_it_happened(shop: Shop, core: Core, on_broker: Settings) -> None:
    async with gateway(core, on_broker), box_at(on_broker, await add_device(shop)) as box:
        entry = replace(box.write(Happening.DOOR_OPENED, "A1"), at=datetime(2024, 5, 1, 12, tzinfo=UTC))
        await box.deliver([entry])
        ((at, occurred_at),) = await ask(
            core, "SELECT at, occurred_at FROM door_reports WHERE device_id = $1", box.device
        )
    assert occurred_at == entry.at
    assert abs((datetime.now(UTC) - at).total_seconds()) < 30


async def test_the_bell_rings_for_a_report_for_a_heartbeat_and_for_a_box_that_is_gone(
    shop: Shop, core: Core, on_broker: Settings
) -> None:
    heard, stop = asyncio.Event(), asyncio.Event()
    listening = asyncio.create_task(core.db.listen(heard.set, stop))

    async def rings() -> None:
        await asyncio.wait_for(heard.wait(), 5)
        await asyncio.sleep(0.5)
        heard.clear()

    async with gateway(core, on_broker), box_at(on_broker, await add_device(shop)) as box:
        await rings()  # once at the start, for what was told before
        await box.deliver([box.write(Happening.DOOR_OPENED, "A1")])
        await rings()
        await box.beat()
        await rings()
        await box.say(Presence, online=False)
        await rings()
    stop.set()
    await listening
