"""Removal: a held compartment is freed by what its door has shown and a person has seen, or by the word of two."""

import pytest

from pickupbox.domain.doors import Happening
from pickupbox.domain.errors import (
    BoxNotConnected,
    NotAwaitingRemoval,
    RemovalCycleMissing,
    SecondPersonNeeded,
    ShipmentNotFound,
)
from pickupbox.usecases.removal import confirm_empty, open_for_removal, release_in_emergency
from tests.devices.street import Journal, ask, is_offered, operator, place_of, revoke
from tests.support.shop import Shop


async def faulted(shop: Shop) -> tuple[str, str]:
    """A shipment whose compartment awaits removal, and the compartment."""
    shipment = await shop.reserved("A", "fault")
    return shipment, (await place_of(shop.core, shipment))[1]


async def test_open_close_and_the_operators_word_release_in_that_order(shop: Shop, journal: Journal) -> None:
    shipment, code = await faulted(shop)
    command = await open_for_removal(shop.core, operator(shop), shipment)
    assert (command.purpose, command.compartment_code, command.about) == ("remove", code, None)
    await journal.cycle(code, command.id)
    assert not await is_offered(shop, shop.box_id, code)
    released = await confirm_empty(shop.core, operator(shop), shipment)
    assert (released.status, released.compartment_state) == ("fault", "available")
    assert await is_offered(shop, shop.box_id, code)
    assert await shop.events(shipment) == ["reserved", "fault", "removed", "door_available"]


async def test_an_operators_word_is_not_enough_before_the_door_has_gone_open_and_shut(
    shop: Shop, journal: Journal
) -> None:
    shipment, code = await faulted(shop)
    with pytest.raises(RemovalCycleMissing):
        await confirm_empty(shop.core, operator(shop), shipment)
    command = await open_for_removal(shop.core, operator(shop), shipment)
    with pytest.raises(RemovalCycleMissing):
        await confirm_empty(shop.core, operator(shop), shipment)
    await journal.tell(Happening.DOOR_OPENED, code, command.id)
    with pytest.raises(RemovalCycleMissing):
        await confirm_empty(shop.core, operator(shop), shipment)
    await journal.tell(Happening.DOOR_CLOSED, code, command.id)
    await confirm_empty(shop.core, operator(shop), shipment)


@pytest.mark.parametrize("with_the_same_command", [True, False])
async def test_reopening_voids_the_cycle(shop: Shop, journal: Journal, with_the_same_command: bool) -> None:
    shipment, code = await faulted(shop)
    command = await open_for_removal(shop.core, operator(shop), shipment)
    await journal.cycle(code, command.id)
    await journal.cycle(code, command.id if with_the_same_command else None)
    with pytest.raises(RemovalCycleMissing):
        await confirm_empty(shop.core, operator(shop), shipment)
    again = await open_for_removal(shop.core, operator(shop), shipment)
    await journal.cycle(code, again.id)
    await confirm_empty(shop.core, operator(shop), shipment)


async def test_a_cycle_from_before_the_command_counts_for_nothing(shop: Shop, journal: Journal) -> None:
    shipment, code = await faulted(shop)
    await journal.cycle(code, None)
    await open_for_removal(shop.core, operator(shop), shipment)
    with pytest.raises(RemovalCycleMissing):
        await confirm_empty(shop.core, operator(shop), shipment)


async def test_only_what_awaits_removal_is_opened_confirmed_or_released(shop: Shop, journal: Journal) -> None:
    shipment = await shop.reserved("A")
    for act in (open_for_removal, confirm_empty):
        with pytest.raises(NotAwaitingRemoval):
            await act(shop.core, operator(shop), shipment)
    with pytest.raises(NotAwaitingRemoval):
        await release_in_emergency(shop.core, operator(shop), shipment, "why")
    with pytest.raises(ShipmentNotFound):
        await open_for_removal(shop.core, operator(shop), "shp_of_nobody")


async def test_another_tenants_shipment_is_not_there(shop: Shop, other_shop: Shop, journal: Journal) -> None:
    shipment, _ = await faulted(shop)
    with pytest.raises(ShipmentNotFound):
        await open_for_removal(other_shop.core, operator(other_shop), shipment)


async def test_a_box_without_a_device_opens_nothing(shop: Shop, journal: Journal) -> None:
    shipment, _ = await faulted(shop)
    await revoke(shop, journal.device)
    with pytest.raises(BoxNotConnected):
        await open_for_removal(shop.core, operator(shop), shipment)


async def test_in_an_emergency_two_different_people_vouch_and_both_are_audited(shop: Shop, journal: Journal) -> None:
    shipment, code = await faulted(shop)
    assert await release_in_emergency(shop.core, operator(shop, "one"), shipment, "no power") is None
    with pytest.raises(SecondPersonNeeded):
        await release_in_emergency(shop.core, operator(shop, "one"), shipment, "no power")
    released = await release_in_emergency(shop.core, operator(shop, "two"), shipment, "no power")
    assert released is not None
    assert await is_offered(shop, shop.box_id, code)
    noted = await ask(
        shop.core, "SELECT actor, action FROM audit WHERE object = $1 AND action LIKE 'removal%' ORDER BY id", shipment
    )
    assert noted == [("one", "removal.emergency: no power"), ("two", "removal.emergency: no power")]


async def test_opening_and_confirming_are_audited(shop: Shop, journal: Journal) -> None:
    shipment, code = await faulted(shop)
    command = await open_for_removal(shop.core, operator(shop, "ada"), shipment)
    await journal.cycle(code, command.id)
    await confirm_empty(shop.core, operator(shop, "bob"), shipment)
    noted = await ask(shop.core, "SELECT actor, action FROM audit WHERE object = $1 ORDER BY id", shipment)
    assert noted == [("ada", "door.open.remove"), ("bob", "removal.confirm")]
