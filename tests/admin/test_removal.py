"""Removal by phone: what it shows is derived from the database, one task at a time, from why to next."""

import re
from itertools import product

import pytest

from pickupbox.admin.live import TOPICS
from pickupbox.domain.doors import Happening
from pickupbox.domain.removal import Screen, screen_of
from pickupbox.domain.roles import Role
from pickupbox.usecases.removal import open_for_removal
from tests.admin.office import Office, Person
from tests.devices.street import Journal, add_device, ask, is_offered, operator, place_of, revoke
from tests.support.shop import Shop


async def screen(person: Person, shipment: str) -> str:
    page = await person.get(f"/removals/{shipment}")
    assert page.status_code == 200
    found = re.search(r'data-screen="(\w+)"', page.text)
    assert found is not None
    return found[1]


async def held(shop: Shop, order: str = "A") -> tuple[str, str]:
    shipment = await shop.reserved(order, "loaded", "fault")
    return shipment, (await place_of(shop.core, shipment))[1]


async def command_of(shop: Shop, shipment: str) -> str:
    ((command,),) = await ask(shop.core, "SELECT command_id FROM removals WHERE shipment_id = $1", shipment)
    return str(command)


async def test_from_why_to_next_each_screen_follows_from_what_the_door_did(office: Office, shop: Shop) -> None:
    journal = Journal(shop.core, await add_device(shop))
    (shipment, code), (other, _) = await held(shop, "A"), await held(shop, "B")
    person = await office.sign_in(Role.OPERATOR)
    assert await screen(person, shipment) == "open_it"
    answer = await person.post(f"/removals/{shipment}/open")
    assert answer.headers["location"] == f"/removals/{shipment}"
    assert await screen(person, shipment) == "opening"
    command = await command_of(shop, shipment)
    await journal.tell(Happening.UNLOCKED, code, command)
    assert await screen(person, shipment) == "pull"
    await journal.tell(Happening.DOOR_OPENED, code, command)
    assert await screen(person, shipment) == "empty_it"
    await journal.tell(Happening.DOOR_CLOSED, code, command)
    assert await screen(person, shipment) == "confirm"
    assert "Yes, it is empty" in (await person.get(f"/removals/{shipment}/empty")).text
    assert (await person.post(f"/removals/{shipment}/empty")).status_code == 303
    page = (await person.get(f"/removals/{shipment}")).text
    assert 'data-screen="done"' in page
    assert page.count('<li class="done">') == 2  # removed, door_available
    assert f'href="/removals/{other}"' in page
    assert await is_offered(shop, shop.box_id, code)
    noted = await ask(shop.core, "SELECT actor, action FROM audit WHERE object = $1 ORDER BY id", shipment)
    assert noted == [(person.id, "door.open.remove"), (person.id, "removal.confirm")]


async def test_somebody_elses_phone_goes_on_where_the_door_is(office: Office, shop: Shop) -> None:
    journal = Journal(shop.core, await add_device(shop))
    shipment, code = await held(shop)
    first, second = await office.sign_in(Role.OPERATOR), await office.sign_in(Role.OPERATOR)
    await first.post(f"/removals/{shipment}/open")
    await journal.cycle(code, await command_of(shop, shipment))
    assert await screen(second, shipment) == "confirm"


async def test_still_has_contents_keeps_it_held_and_asks_for_another_opening(office: Office, shop: Shop) -> None:
    journal = Journal(shop.core, await add_device(shop))
    shipment, code = await held(shop)
    person = await office.sign_in(Role.OPERATOR)
    await person.post(f"/removals/{shipment}/open")
    await journal.cycle(code, await command_of(shop, shipment))
    await person.post(f"/removals/{shipment}/contents")
    assert await screen(person, shipment) == "open_it"
    assert (await person.post(f"/removals/{shipment}/empty")).status_code == 409
    assert not await is_offered(shop, shop.box_id, code)
    noted = await ask(shop.core, "SELECT action FROM audit WHERE object = $1 ORDER BY id", shipment)
    assert noted == [("door.open.remove",), ("removal.still_has_contents",)]


async def test_a_jam_a_refusal_and_a_silent_box_each_have_their_own_screen(office: Office, shop: Shop) -> None:
    journal = Journal(shop.core, await add_device(shop))
    person = await office.sign_in(Role.OPERATOR)
    for happening, expected in (
        (Happening.LOCK_FAILED, "jammed"),
        (Happening.COMMAND_REFUSED, "refused"),
        (None, "no_answer"),
    ):
        shipment, code = await held(shop, expected)
        command = await open_for_removal(shop.core, operator(shop), shipment)
        if happening is not None:
            await journal.tell(happening, code, command.id)
        else:
            async with shop.core.db.connection() as connection:
                await connection.execute("UPDATE door_commands SET expires_at = now() WHERE id = $1", command.id)
        assert await screen(person, shipment) == expected
        await person.post(f"/removals/{shipment}/open")
        assert await screen(person, shipment) == "opening"


async def test_a_door_that_already_stands_open_must_be_closed_first(office: Office, shop: Shop) -> None:
    journal = Journal(shop.core, await add_device(shop))
    shipment, code = await held(shop)
    person = await office.sign_in(Role.OPERATOR)
    await journal.tell(Happening.DOOR_OPENED, code)
    assert await screen(person, shipment) == "already_open"
    await journal.tell(Happening.DOOR_CLOSED, code)
    assert await screen(person, shipment) == "open_it"


async def test_a_door_that_opens_again_takes_the_confirmation_back(office: Office, shop: Shop) -> None:
    journal = Journal(shop.core, await add_device(shop))
    shipment, code = await held(shop)
    person = await office.sign_in(Role.OPERATOR)
    await person.post(f"/removals/{shipment}/open")
    await journal.cycle(code, await command_of(shop, shipment))
    await journal.cycle(code, None)
    assert await screen(person, shipment) == "opened_again"
    answer = await person.get(f"/removals/{shipment}/empty")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/removals/{shipment}")


async def test_a_box_without_a_device_and_one_that_is_not_held_say_so(office: Office, shop: Shop) -> None:
    device = await add_device(shop)
    shipment, _ = await held(shop)
    person = await office.sign_in(Role.OPERATOR)
    assert await screen(person, await shop.reserved("B")) == "not_held"
    await revoke(shop, device)
    assert await screen(person, shipment) == "no_device"
    assert (await person.post(f"/removals/{shipment}/open")).status_code == 409


@pytest.mark.parametrize(
    "seen", list(product([True, False], [None, True, False], [True, False], [True, False])), ids=str
)
def test_the_word_empty_is_asked_for_exactly_when_the_door_has_shown_its_cycle(
    seen: tuple[bool, bool | None, bool, bool],
) -> None:
    device, is_open, commanded, expired = seen
    for cycle, outcome in product(["none", "open", "closed"], [None, "unlocked", "opened", "failed", "refused"]):
        shown = screen_of(
            held=True,
            removed=False,
            device=device,
            is_open=is_open,
            commanded=commanded,
            expired=expired,
            outcome=outcome,
            cycle=cycle,
        )
        assert (shown is Screen.CONFIRM) == (cycle == "closed")
        assert (shown is Screen.EMPTY_IT) == (cycle == "open")
        assert shown not in (Screen.DONE, Screen.NOT_HELD)


async def test_the_list_is_grouped_by_box_the_longest_waiting_first(office: Office, shop: Shop) -> None:
    second = await shop.add_box(name="Second")
    late = await shop.reserved("late", "fault")
    early = await shop.reserved("early", "loaded", "expired", box_id=second)
    middle = await shop.reserved("middle", "fault", box_id=second)
    await shop.reserved("free", "loaded")
    async with shop.core.db.connection() as connection:
        for shipment, hours in ((early, 9), (middle, 2), (late, 5)):
            await connection.execute(
                "UPDATE shipments SET updated_at = updated_at - make_interval(hours => $2) WHERE id = $1",
                shipment,
                hours,
            )
    page = (await (await office.sign_in(Role.OPERATOR)).get("/removals")).text
    assert re.findall(r'href="/removals/(shp_\w+)"', page) == [early, middle, late]
    assert page.count("removal-group card") + page.count("card removal-group") == 2


async def test_an_empty_list_says_what_it_is_for(office: Office) -> None:
    assert "Nothing awaits removal" in (await (await office.sign_in(Role.OPERATOR)).get("/removals")).text


async def test_what_is_live_is_what_the_page_shows(office: Office, shop: Shop) -> None:
    shipment, _ = await held(shop)
    page = (await (await office.sign_in(Role.OPERATOR)).get(f"/removals/{shipment}")).text
    found = await TOPICS["removal"].fetch(shop.core, [(shop.tenant, shipment), ("ten_other", shipment)])
    assert list(found) == [(shop.tenant, shipment)]
    again = await TOPICS["removal"].fetch(shop.core, [(shop.tenant, shipment)])
    assert again == found  # so that nothing is sent while nothing changes
    assert TOPICS["removal"].render(found[shop.tenant, shipment])["removal"] in page


async def test_another_tenants_removal_is_not_there(office: Office, other_shop: Shop) -> None:
    await add_device(other_shop)
    shipment, _ = await held(other_shop)
    person = await office.sign_in(Role.OWNER)
    await person.step_up()
    for path in ("", "/empty", "/emergency"):
        assert (await person.get(f"/removals/{shipment}{path}")).status_code == 404
    for path in ("/open", "/empty", "/contents", "/emergency"):
        assert (await person.post(f"/removals/{shipment}{path}", {"looked": "yes", "code": "A1"})).status_code == 404
    assert await ask(other_shop.core, "SELECT FROM removals WHERE shipment_id = $1", shipment) == []
