"""One box: its cabinet as it stands, what can be set, its doors, its sticker and its device."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from pickupbox.admin.app import make_app
from pickupbox.admin.faces import face_of
from pickupbox.admin.live import TOPICS
from pickupbox.certificates import new_authority, read_authority
from pickupbox.database import presence
from pickupbox.database.box_pages import Door
from pickupbox.database.presence import Beat
from pickupbox.domain.cabinet import columns
from pickupbox.domain.doors import Happening
from pickupbox.domain.lifecycle import FACES, CompartmentState, Stage
from pickupbox.domain.roles import Role
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from tests.admin.office import Office, Person
from tests.admin.test_boxes import settings as lowest
from tests.devices.street import Journal, add_device, ask, place_of
from tests.support.shop import Shop


def doors(html: str) -> dict[str, tuple[str, str, str]]:
    """Fill, edge and accessible name of each door on the page."""
    found = re.findall(r'<a class="door fill-(\w+) edge-(\w+)" id="door-(\w+)" aria-label="([^"]+)"', html)
    return {code: (fill, edge, name) for fill, edge, code, name in found}


async def test_the_cabinet_shows_what_each_compartment_is_and_what_its_sensor_says(office: Office, shop: Shop) -> None:
    journal = Journal(shop.core, await add_device(shop))
    await shop.reserved("A")
    await shop.reserved("B", "loaded")
    await shop.reserved("C", "loaded", "picked_up")
    fault = await shop.reserved("D", "fault")
    await journal.tell(Happening.DOOR_OPENED, (await place_of(shop.core, fault))[1])
    await journal.cycle("B6", None)
    page = (await (await office.sign_in(Role.VIEWER)).get(f"/boxes/{shop.box_id}")).text
    shown = doors(page)
    assert list(shown) == [f"{column}{row}" for column in "AB" for row in range(1, 7)]
    assert shown["A1"] == ("reserved", "unknown", "A1, reserved, door never heard of")
    assert shown["A2"] == ("occupied", "unknown", "A2, loaded, protected, door never heard of")
    assert shown["A3"][0] == "cooldown"
    assert shown["A4"] == ("awaiting", "ajar", "A4, awaits removal, door open")
    assert shown["A5"][0] == "available"
    assert shown["B6"] == ("out", "closed", "B6, out of service, door closed")
    assert f'href="/removals/{fault}"' in page


async def test_a_door_that_never_moved_stands_as_the_last_heartbeat_says(office: Office, shop: Shop) -> None:
    device = await add_device(shop)
    journal = Journal(shop.core, device)
    shipment = await shop.reserved("A", "loaded", "fault")
    code = (await place_of(shop.core, shipment))[1]
    await journal.cycle("B6", None)
    person = await office.sign_in(Role.OPERATOR)

    async def edges() -> dict[str, str]:
        return {code: edge for code, (_, edge, _) in doors((await person.get(f"/boxes/{shop.box_id}")).text).items()}

    assert (await edges())[code] == "unknown"
    async with shop.core.db.connection() as connection:
        await presence.save(connection, [Beat(device, journal.boot, journal.seq, "1.0", ["A2", "B6"])])
    shown = await edges()
    assert (shown[code], shown["A2"]) == ("closed", "ajar")
    assert shown["B6"] == "closed", "what it reported counts"
    assert "door not heard of" not in (await person.get(f"/shipments/{shipment}")).text
    assert "is-unknown" not in (await person.get(f"/removals/{shipment}")).text


@pytest.mark.parametrize("stage", [stage for stage in Stage if FACES[stage].compartment_state != "available"])
def test_every_stage_that_holds_a_compartment_has_a_face(stage: Stage) -> None:
    face = face_of(Door("A1", True, False, False, None, "shp", stage, None, None))
    assert (
        face.fill
        == {
            CompartmentState.RESERVED: "reserved",
            CompartmentState.OCCUPIED: "occupied",
            CompartmentState.COOLDOWN: "cooldown",
            CompartmentState.AWAITING_REMOVAL: "awaiting",
        }[FACES[stage].compartment_state]
    )


def test_columns_leave_a_gap_where_the_cabinet_has_no_door() -> None:
    assert columns(["A1", "A2", "A3", "B1", "B3"]) == [["A1", "A2", "A3"], ["B1", None, "B3"]]
    assert columns([]) == []


async def test_what_is_live_is_what_the_page_shows(office: Office, shop: Shop) -> None:
    await shop.reserved("A")
    page = (await (await office.sign_in(Role.VIEWER)).get(f"/boxes/{shop.box_id}")).text
    place = shop.tenant, shop.box_id
    for topic in ("box", "pulse", "feed"):
        found = await TOPICS[topic].fetch(shop.core, [place])
        foreign = await TOPICS[topic].fetch(shop.core, [("ten_other", shop.box_id), (shop.tenant, "box_other")])
        assert [value for value in foreign.values() if value] == []
        for html in TOPICS[topic].render(found[place]).values():
            assert html in page


async def test_another_tenants_box_is_not_there(office: Office, other_shop: Shop) -> None:
    person = await office.sign_in(Role.OWNER)
    await person.step_up()
    box = f"/boxes/{other_shop.box_id}"
    for path in ("", "/settings", "/doors", "/sticker", "/device"):
        assert (await person.get(box + path)).status_code == 404, path
    form = {"name": "Mine now", "code": "A1", "in_service": "no", "active": "no", "typed": "Test box", **lowest()}
    for path in ("/settings", "/offer", "/doors", "/device", "/device/revoke"):
        assert (await person.post(box + path, form)).status_code == 404, path
    rows = await ask(other_shop.core, "SELECT name, active FROM boxes WHERE id = $1", other_shop.box_id)
    assert rows == [("Test box", True)]


async def actions(shop: Shop, person: Person) -> list[str]:
    rows = await ask(
        shop.core,
        "SELECT action FROM audit WHERE actor = $1 AND action NOT LIKE 'session.%' ORDER BY id",
        person.id,
    )
    return [row[0] for row in rows]


async def test_settings_are_changed_and_the_trail_says_from_what_to_what(office: Office, shop: Shop) -> None:
    person = await office.sign_in(Role.ADMINISTRATOR)
    page = (await person.get(f"/boxes/{shop.box_id}/settings")).text
    form = dict(re.findall(r'id="f-(\w+)" name="\w+" type="\w+" value="([^"]*)"', page))
    assert (await person.post(f"/boxes/{shop.box_id}/settings", form)).status_code == 303
    assert await actions(shop, person) == []
    form |= {"cooldown_seconds": "77", "name": "Renamed"}
    assert (await person.post(f"/boxes/{shop.box_id}/settings", form)).status_code == 303
    assert await actions(shop, person) == ["box.settings: name Test box to Renamed, cooldown_seconds 5 to 77"]
    rows = await ask(shop.core, "SELECT name, cooldown_seconds FROM boxes WHERE id = $1", shop.box_id)
    assert rows == [("Renamed", 77)]
    wrong = await person.post(f"/boxes/{shop.box_id}/settings", form | {"cooldown_seconds": "86401"})
    assert wrong.status_code == 422
    assert "A whole number from 0 to 86400." in wrong.text


async def test_a_box_that_is_not_offered_takes_no_reservation_until_it_is_again(office: Office, shop: Shop) -> None:
    person = await office.sign_in(Role.ADMINISTRATOR)
    await person.post(f"/boxes/{shop.box_id}/offer", {"active": "no"})
    assert (await shop.reserve("A")).status_code == 404
    await person.post(f"/boxes/{shop.box_id}/offer", {"active": "yes"})
    assert (await shop.reserve("A")).status_code == 201
    assert await actions(shop, person) == ["box.deactivate", "box.activate"]


async def test_a_door_goes_out_of_service_and_comes_back(office: Office, shop: Shop) -> None:
    person = await office.sign_in(Role.OPERATOR)
    await person.post(f"/boxes/{shop.box_id}/doors", {"code": "A1", "in_service": "no"})
    assert (await place_of(shop.core, await shop.reserved("A")))[1] == "A2"
    await person.post(f"/boxes/{shop.box_id}/doors", {"code": "A1", "in_service": "yes"})
    assert (await place_of(shop.core, await shop.reserved("B")))[1] == "A1"
    assert (await person.post(f"/boxes/{shop.box_id}/doors", {"code": "Z9"})).status_code == 404
    assert await actions(shop, person) == ["compartment.out_of_service: A1", "compartment.in_service: A1"]


async def test_the_sticker_leads_to_the_box(office: Office, shop: Shop) -> None:
    page = (await (await office.sign_in(Role.VIEWER)).get(f"/boxes/{shop.box_id}/sticker")).text
    assert f"/boxes/{shop.box_id}</code>" in page
    assert "<path" in page.split('class="sticker-qr"')[1].split("</svg>")[0]


async def test_enrolling_shows_a_code_once_and_only_to_who_has_just_proven_who_they_are(
    office: Office, shop: Shop
) -> None:
    person = await office.sign_in(Role.ADMINISTRATOR)
    path = f"/boxes/{shop.box_id}/device"
    assert (await person.post(path)).headers["location"].startswith("/confirm")
    assert await ask(shop.core, "SELECT FROM devices WHERE box_id = $1", shop.box_id) == []


async def test_a_device_is_enrolled_and_revoked_by_typing_the_boxs_name(
    shop: Shop, core: Core, settings: Settings
) -> None:
    signing = replace(core, authority=read_authority(new_authority("test", datetime.now(UTC))))
    office = Office(signing, make_app(signing, settings), shop)
    person = await office.sign_in(Role.ADMINISTRATOR)
    await person.step_up()
    path = f"/boxes/{shop.box_id}/device"
    shown = await person.post(path)
    code = re.search(r"[A-Z2-9]{4}(-[A-Z2-9]{4}){3}", shown.text)
    assert code is not None
    assert code[0] not in (await person.get(path)).text
    ((device,),) = await ask(core, "SELECT id FROM devices WHERE box_id = $1 AND revoked_at IS NULL", shop.box_id)
    await person.post(f"{path}/revoke", {"device": device, "typed": "another name"})
    assert await ask(core, "SELECT revoked_at IS NULL FROM devices WHERE id = $1", device) == [(True,)]
    await person.post(f"{path}/revoke", {"device": device, "typed": "Test box"})
    assert await ask(core, "SELECT revoked_at IS NULL FROM devices WHERE id = $1", device) == [(False,)]
    assert await actions(shop, person) == ["device.enroll", "device.revoke"]
    await person.http.aclose()
