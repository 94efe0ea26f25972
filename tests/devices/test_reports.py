"""What the doors of a box report moves the shipment that it is about, and no other."""

import asyncio

import pytest
from structlog.testing import capture_logs

from pickupbox.domain.doors import Happening, Purpose
from pickupbox.domain.lifecycle import Stage, Trigger
from pickupbox.usecases.check import check
from pickupbox.usecases.clock import sweep
from pickupbox.usecases.core import Core
from pickupbox.usecases.doors import Taken
from pickupbox.usecases.steps import lock, prepare, record
from tests.devices.street import (
    Journal,
    add_device,
    ask,
    command_for,
    is_offered,
    outcome_of,
    place_of,
    stage_of,
)
from tests.support.databases import elapse
from tests.support.shop import Shop
from tests.support.waiting import until

OPENED, CLOSED = Happening.DOOR_OPENED, Happening.DOOR_CLOSED


async def sweep_one(shop: Shop, shipment: str) -> None:
    """What is due of one shipment happens now."""
    await elapse(shop.core, shipment, 600)
    await sweep(shop.core, 1000)


async def test_door_cycles_load_correct_and_pick_up(shop: Shop, journal: Journal) -> None:
    shipment = await shop.reserved()
    seen = []
    for purpose in (Purpose.LOAD, Purpose.CORRECT, Purpose.PICK_UP):
        code, command = await command_for(shop, journal, shipment)
        assert await ask(shop.core, "SELECT purpose FROM door_commands WHERE id = $1", command) == [(purpose,)]
        for happening in (Happening.UNLOCKED, OPENED, CLOSED):
            await journal.tell(happening, code, command)
            seen.append(await stage_of(shop.core, shipment))
        assert await outcome_of(shop.core, command) == "opened"
        if purpose is Purpose.CORRECT:
            await sweep_one(shop, shipment)
    assert seen == [
        Stage.RESERVED, Stage.LOADING, Stage.PROTECTED,
        Stage.PROTECTED, Stage.CORRECTING, Stage.PROTECTED,
        Stage.READY, Stage.COLLECTING, Stage.COOLING,
    ]  # fmt: skip
    assert await shop.events(shipment) == ["reserved", "loaded", "picked_up"]
    assert [finding for finding in await check(shop.core, shop.tenant) if finding.breaches] == []


async def test_an_uncommanded_door_faults_the_shipment_behind_it(shop: Shop, journal: Journal) -> None:
    shipment = await shop.reserved("A", "loaded")
    _, code = await place_of(shop.core, shipment)
    await journal.tell(OPENED, code)
    assert await stage_of(shop.core, shipment) == Stage.FAULT_HELD
    assert (await shop.events(shipment))[-1] == "fault"
    assert not await is_offered(shop, shop.box_id, code)


async def test_an_uncommanded_door_of_a_free_compartment_takes_it_out_of_service(shop: Shop, journal: Journal) -> None:
    ((code,),) = await ask(shop.core, "SELECT min(code) FROM compartments WHERE box_id = $1", shop.box_id)
    assert await is_offered(shop, shop.box_id, code)
    await journal.tell(OPENED, code)
    assert not await is_offered(shop, shop.box_id, code)
    await journal.tell(CLOSED, code)
    assert not await is_offered(shop, shop.box_id, code)


async def test_an_uncommanded_door_during_cooldown_is_not_offered_after_it(shop: Shop, journal: Journal) -> None:
    shipment = await shop.reserved("A", "loaded", "picked_up")
    _, code = await place_of(shop.core, shipment)
    await journal.tell(OPENED, code)
    await shop.simulate(shipment, "door_available")
    assert await stage_of(shop.core, shipment) == Stage.COLLECTED
    assert not await is_offered(shop, shop.box_id, code)


@pytest.mark.parametrize(
    ("events", "happening"),
    [((), OPENED), ((), Happening.LOCK_FAILED), (("loaded", "picked_up"), OPENED)],
    ids=["opened by nobody", "a lock that failed", "opened once more after the pickup"],
)
async def test_a_compartment_in_doubt_is_out_of_service_and_told_to_the_person_on_call(
    shop: Shop, journal: Journal, events: tuple[str, ...], happening: Happening
) -> None:
    shipment = await shop.reserved("A", *events)
    code, command = (await place_of(shop.core, shipment))[1], None
    if not events:
        _, command = await command_for(shop, journal, shipment)
        await shop.cancel(shipment)
    with capture_logs() as lines:
        await journal.tell(happening, code, command)
    told = [(line["log_level"], line["doors"]) for line in lines if line["event"] == "compartment_in_doubt"]
    assert told == [("warning", [f"{shop.box_id}/{code}"])]
    assert not await is_offered(shop, shop.box_id, code)


async def test_a_door_of_a_compartment_that_there_is_none_of_changes_nothing(shop: Shop, journal: Journal) -> None:
    assert await journal.tell(OPENED, "no-such") == Taken(1)
    assert await ask(shop.core, "SELECT 1 FROM doors WHERE box_id = $1", shop.box_id) == []


async def test_what_the_sensors_last_said_is_kept(shop: Shop, journal: Journal) -> None:
    shipment = await shop.reserved()
    code, command = await command_for(shop, journal, shipment)
    for happening, is_open in ((OPENED, True), (CLOSED, False), (OPENED, True)):
        await journal.tell(happening, code, command)
        assert await ask(shop.core, "SELECT code, is_open FROM doors WHERE box_id = $1", shop.box_id) == [
            (code, is_open)
        ]


async def test_a_command_for_one_shipment_never_loads_or_collects_another(shop: Shop, journal: Journal) -> None:
    first, second = await shop.reserved("A"), await shop.reserved("B")
    _, command = await command_for(shop, journal, first)
    _, code_of_second = await place_of(shop.core, second)
    await journal.tell(OPENED, code_of_second, command)
    assert await stage_of(shop.core, first) == Stage.RESERVED
    assert await stage_of(shop.core, second) == Stage.FAULT_HELD


async def test_a_command_for_the_shipment_that_was_there_before_does_not_load_the_next(shop: Shop) -> None:
    box_id = await shop.add_box(compartments=1)
    journal = Journal(shop.core, await add_device(shop, box_id))
    first = await shop.reserved("A", box_id=box_id)
    code, command = await command_for(shop, journal, first)
    await shop.cancel(first)
    second = await shop.reserved("B", box_id=box_id)
    await journal.cycle(code, command)
    assert await stage_of(shop.core, second) == Stage.FAULT_HELD


async def test_a_command_that_comes_after_the_release_takes_the_compartment_out_of_service(
    shop: Shop, journal: Journal
) -> None:
    shipment = await shop.reserved()
    code, command = await command_for(shop, journal, shipment)
    await shop.cancel(shipment)
    assert await is_offered(shop, shop.box_id, code)
    await journal.cycle(code, command)
    assert not await is_offered(shop, shop.box_id, code)


async def test_a_door_that_opens_while_its_shipment_is_being_released_is_not_offered(
    shop: Shop, journal: Journal
) -> None:
    """The report waits for the row of a shipment that no longer holds the compartment when it gets it."""
    shipment = await shop.reserved()
    code, command = await command_for(shop, journal, shipment)
    async with shop.core.db.transaction() as tx:
        locked = await lock(tx, shop.tenant, shipment)
        telling = asyncio.create_task(journal.tell(OPENED, code, command))
        await until(lambda: someone_waits(shop.core), 4)
        await record(tx, prepare(shop.core, locked, Trigger.CANCEL))
    assert await telling == Taken(1)
    assert not await is_offered(shop, shop.box_id, code)


async def someone_waits(core: Core) -> bool:
    return bool(
        await ask(
            core,
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' LIMIT 1",
        )
    )


@pytest.mark.parametrize("events", [(), ("loaded",)])
async def test_a_lock_that_fails_is_a_fault(shop: Shop, journal: Journal, events: tuple[str, ...]) -> None:
    shipment = await shop.reserved("A", *events)
    code, command = await command_for(shop, journal, shipment)
    await journal.tell(Happening.LOCK_FAILED, code, command)
    assert await stage_of(shop.core, shipment) == Stage.FAULT_HELD
    assert await outcome_of(shop.core, command) == "failed"


async def test_a_refused_command_is_noted_and_moves_nothing(shop: Shop, journal: Journal) -> None:
    shipment = await shop.reserved()
    code, command = await command_for(shop, journal, shipment)
    await journal.tell(Happening.COMMAND_REFUSED, code, command)
    assert await stage_of(shop.core, shipment) == Stage.RESERVED
    assert await outcome_of(shop.core, command) == "refused"


async def test_a_box_says_nothing_about_the_doors_and_commands_of_another_tenant(
    shop: Shop, other_shop: Shop, journal: Journal
) -> None:
    shipment = await shop.reserved()
    code, command = await command_for(shop, journal, shipment)
    foreign = Journal(shop.core, await add_device(other_shop))
    for happening in (Happening.UNLOCKED, OPENED, Happening.LOCK_FAILED, Happening.COMMAND_REFUSED):
        await foreign.tell(happening, code, command)
    assert await outcome_of(shop.core, command) is None
    assert await stage_of(shop.core, shipment) == Stage.RESERVED
    assert await ask(shop.core, "SELECT 1 FROM doors WHERE box_id = $1", shop.box_id) == []
