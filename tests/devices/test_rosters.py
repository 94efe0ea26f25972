"""Rosters on the service's side: which grants a box gets, and what is withheld until it has confirmed."""

import asyncio

import pytest_asyncio

from pickupbox.database import rosters
from pickupbox.database.rosters import FORGOTTEN
from pickupbox.devices.values import NUMBERS_END
from pickupbox.domain.doors import Happening, Purpose
from pickupbox.domain.grants import mark_of, offline_command, verifier_of
from pickupbox.domain.lifecycle import Stage
from pickupbox.usecases.core import Core
from pickupbox.usecases.rosters import NewRoster, make_rosters
from tests.devices.street import Journal, add_device, is_offered, pin_of, stage_of
from tests.support.shop import Shop


class Box:
    """A box with one compartment that opens by itself, as the gateway knows it."""

    def __init__(self, shop: Shop, box_id: str, device: str) -> None:
        self.shop, self.id, self.device = shop, box_id, device

    async def beat(self, version: int) -> bool:
        """A heartbeat with this roster; whether its lease is renewed."""
        async with self.shop.core.db.connection() as connection:
            return (await rosters.compare(connection, [(self.device, version)]))[self.device].leased

    async def is_unconfirmed(self, version: int) -> bool:
        """Whether a heartbeat with this roster is the first that says so."""
        async with self.shop.core.db.connection() as connection:
            return (await rosters.compare(connection, [(self.device, version)]))[self.device].unconfirmed

    async def new_roster(self) -> NewRoster | None:
        made = [one for one in await make_rosters(self.shop.core, 1000) if one.device_id == self.device]
        return made[-1] if made else None

    async def confirm(self, version: int) -> None:
        async with self.shop.core.db.connection() as connection:
            await rosters.confirm(connection, self.device, version)

    async def catch_up(self) -> int:
        """Take the newest roster; its version."""
        made = await self.new_roster()
        assert made is not None
        await self.confirm(made.version)
        return made.version

    async def reserve(self, order: str) -> int:
        return (await self.shop.reserve(order, box_id=self.id)).status_code


@pytest_asyncio.fixture
async def box(shop: Shop) -> Box:
    box_id = await shop.add_box(1)
    made = Box(shop, box_id, await add_device(shop, box_id))
    assert not await made.beat(0)
    await made.catch_up()
    return made


async def test_a_box_gets_a_grant_for_each_live_shipment_and_a_lease_for_the_newest_roster(
    shop: Shop, core: Core, box: Box
) -> None:
    assert await box.beat(1)
    shipment = await shop.reserved("A", box_id=box.id)
    assert not await box.beat(1), "a change waits"
    roster = await box.new_roster()
    assert roster is not None
    (grant,) = roster.grants
    pin = await pin_of(shop, shipment)
    assert (grant.compartment, grant.purpose, grant.mark) == ("A1", Purpose.LOAD, mark_of(shipment))
    assert grant.verifier == verifier_of(roster.key, pin)
    assert roster.key == core.vault.verifier_key(box.device)
    assert roster.version == 2
    assert not await box.beat(1), "an old one"
    await box.new_roster()
    assert await box.beat(3)


async def test_a_loaded_parcel_is_granted_from_the_end_of_its_protection(shop: Shop, box: Box) -> None:
    shipment = await shop.reserved("A", "loaded", box_id=box.id)
    read = (await shop.read(shipment)).json()
    roster = await box.new_roster()
    assert roster is not None
    (grant,) = roster.grants
    assert grant.purpose is Purpose.PICK_UP
    assert grant.opens_from.isoformat()[:19] == read["pickup_available_at"][:19]
    assert grant.until.isoformat()[:19] == read["pickup_expires_at"][:19]


async def test_a_released_compartment_is_withheld_until_the_box_has_confirmed_a_roster_without_it(
    shop: Shop, box: Box
) -> None:
    shipment = await shop.reserved("A", box_id=box.id)
    with_the_pin = await box.new_roster()
    assert with_the_pin is not None
    assert (await shop.cancel(shipment)).json()["compartment_state"] == "available"
    assert await box.reserve("B") == 409
    await box.confirm(with_the_pin.version)
    assert await box.reserve("B") == 409
    await box.catch_up()
    assert await box.reserve("B") == 201


async def test_a_heartbeat_tells_of_a_roster_whose_confirmation_was_lost(shop: Shop, box: Box) -> None:
    await shop.cancel(await shop.reserved("A", box_id=box.id))
    made = await box.new_roster()
    assert made is not None
    assert await box.is_unconfirmed(made.version)
    assert not await box.is_unconfirmed(made.version - 1), "that one was confirmed"
    await box.confirm(made.version)
    assert not await box.is_unconfirmed(made.version)


async def test_what_was_never_loaded_is_withheld_no_longer_than_the_lease(shop: Shop, core: Core, box: Box) -> None:
    shipment = await shop.reserved("A", box_id=box.id)
    await shop.cancel(shipment)
    async with core.db.connection() as connection:
        minutes = await connection.fetchval(
            "SELECT extract(epoch FROM withheld_until - now()) / 60 FROM compartments WHERE box_id = $1", box.id
        )
        assert 15 < minutes <= 16
        await connection.execute("UPDATE compartments SET withheld_until = now() WHERE box_id = $1", box.id)
    assert await box.reserve("B") == 201


async def test_what_held_a_parcel_is_withheld_until_the_box_says_so(shop: Shop, core: Core, box: Box) -> None:
    await shop.reserved("A", "loaded", "picked_up", "door_available", box_id=box.id)
    async with core.db.connection() as connection:
        question = "SELECT withheld_until = 'infinity' FROM compartments WHERE box_id = $1"
        assert await connection.fetchval(question, box.id)
    assert await box.reserve("B") == 409
    await box.catch_up()
    assert await box.reserve("B") == 201


async def test_a_reservation_waits_a_moment_for_a_box_in_reach(shop: Shop, core: Core, box: Box) -> None:
    shipment = await shop.reserved("A", box_id=box.id)
    async with core.db.connection() as connection:
        await connection.execute("UPDATE devices SET online = true WHERE id = $1", box.device)
    await shop.cancel(shipment)
    reserving = asyncio.create_task(box.reserve("B"))
    await asyncio.sleep(0.3)
    await box.catch_up()
    assert await reserving == 201


async def test_a_word_that_comes_while_a_reservation_asks_for_it_is_heard(shop: Shop, core: Core, box: Box) -> None:
    """Whether the box is in reach is asked of its device, so the reservation is held up there, and the word comes."""
    shipment = await shop.reserved("A", box_id=box.id)
    async with core.db.connection() as connection:
        await connection.execute("UPDATE devices SET online = true WHERE id = $1", box.device)
    await shop.cancel(shipment)
    made = await box.new_roster()
    assert made is not None
    waits = "SELECT count(*) FROM pg_locks WHERE relation = 'devices'::regclass AND NOT granted"
    async with core.db.transaction() as tx:
        await tx.execute("LOCK TABLE devices IN ACCESS EXCLUSIVE MODE")
        reserving = asyncio.create_task(box.reserve("B"))
        async with asyncio.timeout(4):
            while not await tx.fetchval(waits):  # noqa: ASYNC110 - it asks the database
                await asyncio.sleep(0.01)
        await rosters.confirm(tx, box.device, made.version)
    assert await reserving == 201


async def test_a_box_that_does_not_open_by_itself_withholds_nothing(shop: Shop) -> None:
    box_id = await shop.add_box(1)
    await add_device(shop, box_id)
    await shop.cancel(await shop.reserved("A", box_id=box_id))
    assert (await shop.reserve("B", box_id=box_id)).status_code == 201


async def test_a_late_load_is_never_taken_for_the_next_shipments(shop: Shop, core: Core, box: Box) -> None:
    """The box's clock was wrong beyond all bounds: the compartment had been given to the next one."""
    first = await shop.reserved("A", box_id=box.id)
    await shop.cancel(first)
    await box.catch_up()
    following = await shop.reserved("B", box_id=box.id)
    await Journal(core, box.device).cycle("A1", offline_command(Purpose.LOAD, mark_of(first), "0badcafe"))
    assert await stage_of(core, following) == Stage.FAULT_HELD


async def test_a_late_load_of_a_free_compartment_takes_it_out_of_service(shop: Shop, core: Core, box: Box) -> None:
    first = await shop.reserved("A", box_id=box.id)
    await shop.cancel(first)
    await box.catch_up()
    await Journal(core, box.device).cycle("A1", offline_command(Purpose.LOAD, mark_of(first), "0badcafe"))
    assert not await is_offered(shop, box.id, "A1")
    assert await box.reserve("B") == 409


async def test_what_the_box_opened_for_by_itself_counts_as_if_the_service_had(shop: Shop, core: Core, box: Box) -> None:
    shipment = await shop.reserved("A", box_id=box.id)
    journal = Journal(core, box.device)
    await journal.tell(Happening.DOOR_OPENED, "A1", offline_command(Purpose.LOAD, mark_of(shipment), "00000001"))
    assert await stage_of(core, shipment) == Stage.LOADING
    await journal.tell(Happening.DOOR_CLOSED, "A1", offline_command(Purpose.LOAD, mark_of(shipment), "00000001"))
    assert await stage_of(core, shipment) == Stage.PROTECTED
    await journal.cycle("A1", offline_command(Purpose.PICK_UP, mark_of(shipment), "00000002"))
    assert await stage_of(core, shipment) == Stage.COOLING
    assert await shop.events(shipment) == ["reserved", "loaded", "picked_up"]


async def rosters_of(core: Core, box: Box) -> list[tuple[int, int]]:
    async with core.db.connection() as connection:
        rows = await connection.fetch("SELECT version, confirmed FROM rosters WHERE box_id = $1", box.id)
    return [(row["version"], row["confirmed"]) for row in rows]


async def test_a_version_far_beyond_what_the_service_made_is_not_believed(core: Core, box: Box) -> None:
    for version in (NUMBERS_END - 1, FORGOTTEN + 2):
        assert not await box.beat(version)
        assert await box.new_roster() is None
    assert await rosters_of(core, box) == [(1, 1)]
    assert await box.beat(1), "the roster that it does hold counts"


async def test_a_first_version_that_no_service_made_begins_nothing(shop: Shop, core: Core) -> None:
    box_id = await shop.add_box(1)
    box = Box(shop, box_id, await add_device(shop, box_id))
    assert not await box.beat(NUMBERS_END - 1)
    assert await rosters_of(core, box) == []
    assert not await box.beat(0)
    assert await box.catch_up() == 1


async def test_a_service_that_was_set_back_counts_on_from_what_the_box_holds(shop: Shop, core: Core, box: Box) -> None:
    """And by its old roster the box confirms none of those that the service made under the same numbers."""
    await shop.cancel(await shop.reserved("A", box_id=box.id))
    await box.new_roster()
    assert not await box.beat(5)
    assert not await box.is_unconfirmed(5)
    await box.confirm(5)
    assert await box.reserve("B") == 409
    assert await box.catch_up() == 6
    assert await box.reserve("B") == 201
