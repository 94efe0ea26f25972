"""Emergency release: two different people, each before the door, within fifteen minutes."""

import pytest

from pickupbox.domain.roles import Role
from tests.admin.office import Office, Person
from tests.devices.street import add_device, ask, is_offered, place_of
from tests.support.shop import Shop

REASON = "The sensor is broken, opened with the key"


async def held(shop: Shop) -> tuple[str, str]:
    await add_device(shop)
    shipment = await shop.reserved("A", "loaded", "fault")
    return shipment, (await place_of(shop.core, shipment))[1]


async def someone(office: Office, role: Role = Role.OPERATOR) -> Person:
    person = await office.sign_in(role)
    await person.step_up()
    return person


async def vouch(person: Person, shipment: str, code: str, reason: str = REASON, looked: str = "yes") -> int:
    form = {"code": code, "reason": reason, "looked": looked}
    return (await person.post(f"/removals/{shipment}/emergency", form)).status_code


async def test_two_people_release_it_and_both_stand_in_the_trail(office: Office, shop: Shop) -> None:
    shipment, code = await held(shop)
    first, second = await someone(office), await someone(office, Role.ADMINISTRATOR)
    assert await vouch(first, shipment, code) == 303
    assert not await is_offered(shop, shop.box_id, code)
    assert "Your word stands" in (await first.get(f"/removals/{shipment}/emergency")).text
    page = (await second.get(f"/removals/{shipment}/emergency")).text
    assert "Operator has looked inside" in page
    assert REASON in page
    assert await vouch(second, shipment, code.lower(), reason="") == 303
    assert await is_offered(shop, shop.box_id, code)
    noted = await ask(shop.core, "SELECT actor, action FROM audit WHERE object = $1 ORDER BY id", shipment)
    assert noted == [(person.id, f"removal.emergency: {REASON}") for person in (first, second)]
    assert (await first.get(f"/removals/{shipment}/emergency")).headers["location"] == f"/removals/{shipment}"


async def test_one_person_is_not_two(office: Office, shop: Shop) -> None:
    shipment, code = await held(shop)
    first = await someone(office)
    assert await vouch(first, shipment, code) == 303
    assert await vouch(first, shipment, code) == 409
    assert not await is_offered(shop, shop.box_id, code)


async def test_the_first_word_counts_for_fifteen_minutes(office: Office, shop: Shop) -> None:
    shipment, code = await held(shop)
    first, second = await someone(office), await someone(office)
    for minutes, counts in ((16, False), (14, True)):
        await vouch(first, shipment, code)
        async with shop.core.db.connection() as connection:
            await connection.execute(
                "UPDATE removals SET emergency_at = now() - make_interval(mins => $2) WHERE shipment_id = $1",
                shipment,
                minutes,
            )
        page = (await second.get(f"/removals/{shipment}/emergency")).text
        assert ("has looked inside" in page) == counts
    assert await vouch(second, shipment, code, reason="") == 303
    assert await is_offered(shop, shop.box_id, code)


async def test_after_fifteen_minutes_the_second_word_is_only_a_first_one(office: Office, shop: Shop) -> None:
    shipment, code = await held(shop)
    first, second = await someone(office), await someone(office)
    await vouch(first, shipment, code)
    async with shop.core.db.connection() as connection:
        await connection.execute(
            "UPDATE removals SET emergency_at = now() - interval '15 minutes' WHERE shipment_id = $1", shipment
        )
    assert await vouch(second, shipment, code) == 303
    assert not await is_offered(shop, shop.box_id, code)
    assert await vouch(first, shipment, code, reason="") == 303
    assert await is_offered(shop, shop.box_id, code)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"code": "Z9"}, "That is not the code on this door."),
        ({"code": ""}, "That is not the code on this door."),
        ({"reason": "why"}, "Say in 10 to 300 characters"),
        ({"looked": ""}, "Only who has looked inside may say so."),
    ],
)
async def test_no_word_counts_without_the_doors_code_a_reason_and_a_look_inside(
    office: Office, shop: Shop, wrong: dict[str, str], said: str
) -> None:
    shipment, code = await held(shop)
    person = await someone(office)
    form = {"code": code, "reason": REASON, "looked": "yes"} | wrong
    answer = await person.post(f"/removals/{shipment}/emergency", form)
    assert answer.status_code == 422
    assert said in answer.text
    assert await ask(shop.core, "SELECT emergency_by FROM removals WHERE shipment_id = $1", shipment) == []
    assert await ask(shop.core, "SELECT FROM audit WHERE object = $1", shipment) == []


async def test_only_who_has_just_proven_who_they_are_may_speak(office: Office, shop: Shop) -> None:
    shipment, code = await held(shop)
    person = await office.sign_in(Role.OPERATOR)
    for answer in (
        await person.get(f"/removals/{shipment}/emergency"),
        await person.post(f"/removals/{shipment}/emergency", {"code": code, "reason": REASON, "looked": "yes"}),
    ):
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/confirm?then=")
    assert await ask(shop.core, "SELECT FROM removals WHERE shipment_id = $1", shipment) == []
