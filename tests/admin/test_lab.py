"""The sandbox lab: make a shipment, play what happens to it; in production there is no such page."""

import re
from dataclasses import replace

from pickupbox.admin.app import routes
from pickupbox.admin.pages import PAGES
from pickupbox.database.box_pages import PAGE
from pickupbox.domain.lifecycle import TRANSITIONS, Stage
from pickupbox.domain.roles import Role
from pickupbox.settings import Settings
from pickupbox.usecases.boxes import offer_box
from pickupbox.usecases.core import Core
from pickupbox.usecases.read import read
from pickupbox.usecases.simulate import TRIGGERS, fitting
from tests.admin.office import Office
from tests.support.shop import Shop


async def noted(shop: Shop, shipment_id: str) -> list[str]:
    async with shop.core.db.connection() as connection:
        rows = await connection.fetch(
            "SELECT action FROM audit WHERE tenant_id = $1 AND object = $2 ORDER BY id", shop.tenant, shipment_id
        )
    return [row["action"] for row in rows]


async def test_a_shipment_goes_its_whole_way_by_buttons(office: Office) -> None:
    shop, person = office.shop, await office.sign_in(Role.OPERATOR)
    made = await person.post("/lab/shipments", {"box": shop.box_id, "order": "lab-1"})
    address = made.headers["location"]
    shipment_id = address.removeprefix("/lab/")
    for event in ("loaded", "picked_up", "door_available"):
        text = (await person.get(address)).text
        (button,) = re.findall(rf'<button [^>]*data-event="{event}"[^>]*>', text)
        assert "disabled" not in button
        assert (await person.post(f"{address}/events", {"event": event})).status_code == 303
    assert (await read(shop.core, shop.tenant, shipment_id)).stage is Stage.COLLECTED
    text = (await person.get(address)).text
    buttons = re.findall(r"<button [^>]*data-event=[^>]*>", text)
    assert len(buttons) == 6
    assert all("disabled" in button for button in buttons)
    assert await noted(shop, shipment_id) == [
        "shipment.reserve",
        "sandbox.loaded",
        "sandbox.picked_up",
        "sandbox.door_available",
    ]


async def test_an_event_that_does_not_fit_is_refused_and_not_noted(office: Office) -> None:
    shop, person = office.shop, await office.sign_in(Role.OPERATOR)
    shipment_id = await shop.reserved("A")
    assert (await person.post(f"/lab/{shipment_id}/events", {"event": "removed"})).status_code == 409
    assert (await person.post(f"/lab/{shipment_id}/events", {"event": "nonsense"})).status_code == 404
    assert await noted(shop, shipment_id) == []


def test_what_fits_is_what_the_lifecycle_has_a_step_for() -> None:
    for stage in Stage:
        assert set(fitting(stage)) == {event for event, trigger in TRIGGERS.items() if (stage, trigger) in TRANSITIONS}
    assert fitting(Stage.COLLECTED) == []


async def test_another_tenants_boxes_and_shipments_are_not_there(office: Office, other_shop: Shop) -> None:
    person = await office.sign_in(Role.OWNER)
    theirs = await other_shop.reserved("theirs")
    assert (await person.post("/lab/shipments", {"box": other_shop.box_id, "order": "x"})).status_code == 404
    assert (await person.get(f"/lab/{theirs}")).status_code == 404
    assert (await person.post(f"/lab/{theirs}/events", {"event": "loaded"})).status_code == 404
    assert "theirs" not in (await person.get("/lab")).text


async def test_one_of_many_boxes_is_found_by_searching(office: Office) -> None:
    shop, person = office.shop, await office.sign_in(Role.OPERATOR)
    assert 'name="q"' not in (await person.get("/lab")).text, "one sees them all"
    for number in range(PAGE):
        await shop.add_box(1, name=f"Box {number:02}")
    wanted = await shop.add_box(1, name="Zoo", location_name="Beside the Pond")
    closed = await shop.add_box(1, name="Pond, closed")
    await offer_box(shop.core, shop.caller, closed, active=False)
    first = (await person.get("/lab")).text
    assert 'name="q"' in first
    assert f'value="{wanted}"' not in first
    found = re.findall(r'<option value="([^"]+)"', (await person.get("/lab?q=pond")).text)
    assert found == [wanted]
    assert (await person.post("/lab/shipments", {"box": wanted, "order": "there"})).status_code == 303
    assert "No such box" in (await person.get("/lab?q=nowhere")).text


async def test_the_lab_lists_what_is_under_way_and_is_marked_as_no_street(office: Office) -> None:
    shop, person = office.shop, await office.sign_in(Role.OPERATOR)
    await shop.reserved("done", "expired")
    running = await shop.reserved("running", "loaded")
    text = (await person.get("/lab")).text
    assert re.findall(r'href="/lab/(shp_[^"]+)"', text) == [running]
    assert "lab-banner" in text


def test_in_production_there_is_no_lab(core: Core, settings: Settings) -> None:
    served = {route.path for route in routes(PAGES, replace(core, environment="production"), settings)}
    assert [path for path in served if path.startswith("/lab")] == []
    assert any(route.path == "/lab" for route in routes(PAGES, core, settings))
