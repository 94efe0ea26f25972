"""The administration as people use it, in real browsers, against a whole demo with virtual boxes and real mail."""

import json
import re
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from zoneinfo import ZoneInfo

import pytest
from playwright.async_api import Browser, Page, expect
from standardwebhooks import Webhook

from tests.browser.offices import DESK, PHONE, Picture, Street, a_person, a_street, sign_in, still_me
from tests.support.waiting import until

NEW_PASSWORD = "four words without a link"
OPERATOR = "operator@demo.example"
KABUL = ZoneInfo("Asia/Kabul")


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Street]:
    with a_street(tmp_path_factory.mktemp("street")) as street:
        yield street


@pytest.fixture
def shop() -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]]]]:
    """A shop's own server: where it listens, and what it was sent."""
    heard: list[tuple[dict[str, str], bytes]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/told", heard
    server.shutdown()
    server.server_close()


async def test_an_administrator_from_invitation_to_first_key_webhook_and_delivered_event(
    browser: Browser, street: Street, shop: tuple[str, list[tuple[dict[str, str], bytes]]], picture: Picture
) -> None:
    address, heard = shop
    async with a_person(browser) as owner:
        await sign_in(owner, street, street.said["admin_email"])
        await owner.get_by_role("link", name="Team", exact=True).click()
        await owner.get_by_role("link", name="Invite someone").click()
        await owner.get_by_label("E-mail address").fill("anna@firm.example")
        await owner.get_by_label("Role").select_option("administrator")
        await owner.get_by_role("button", name="Send the invitation").click()
        await expect(owner.get_by_text("anna@firm.example").first).to_be_visible()
    link = await street.mail.link_to("anna@firm.example")
    async with a_person(browser) as anna:
        await anna.goto(link)
        await anna.screenshot(path=picture("walk-invited"))
        await anna.get_by_label("Your name").fill("Anna")
        await anna.get_by_label("Password").fill(NEW_PASSWORD)
        await anna.get_by_role("button", name="Come in").click()
        await expect(anna.get_by_role("heading", level=1)).to_be_visible()
        key = await first_key(anna, street)
        secret = await first_webhook(anna, address)
        shipment = street.reserve(api_key=key)
        await until(lambda: len(heard) == 2)
        await anna.get_by_role("link", name="Deliveries").click()
        while not await anna.get_by_text(shipment["id"]).count():  # written down some moments after the answer
            await anna.reload()
        await expect(anna.locator("article").get_by_text("Accepted")).to_be_visible()
        await anna.screenshot(path=picture("walk-delivered"))
    told = [Webhook(secret).verify(body, headers) for headers, body in heard]
    assert [event["type"] for event in told] == ["loaded", "reserved"], "the test event, and the shipment's own"
    assert told[-1]["data"]["shipment_id"] == shipment["id"]
    async with a_person(browser) as late:
        await late.goto(link)
        await expect(late.get_by_text("Anna")).to_have_count(0)
        await expect(late.get_by_label("Password")).to_have_count(0)


async def first_key(tab: Page, street: Street) -> str:
    await tab.get_by_role("link", name="API keys", exact=True).click()
    await tab.get_by_role("link", name="New key").first.click()
    if "/confirm" in tab.url:
        await still_me(tab, NEW_PASSWORD)
    await tab.get_by_label("What is it for?").fill("Web shop")
    await tab.get_by_role("button", name="Make the key").click()
    key = await tab.locator(".copyable code").inner_text()
    assert street.call("GET", "/boxes", key)["items"]
    return key


async def first_webhook(tab: Page, address: str) -> str:
    await tab.get_by_role("link", name="Webhooks", exact=True).click()
    await tab.get_by_role("link", name="Add an endpoint").first.click()
    if "/confirm" in tab.url:
        await still_me(tab, NEW_PASSWORD)
    await tab.get_by_label("Address").fill(address)
    await tab.get_by_role("button", name="Add the endpoint").click()
    secret = await tab.locator(".copyable code").inner_text()
    await tab.get_by_role("link", name="I have kept it").click()
    await tab.get_by_role("button", name="Send it").click()
    await expect(tab.get_by_text("Accepted").first).to_be_visible()
    return secret


async def test_an_operator_with_a_phone_removes_a_parcel_while_somebody_else_moves_the_door(
    browser: Browser, street: Street, picture: Picture
) -> None:
    held = street.reserve("loaded", "fault")
    door = held["compartment_code"]
    async with a_person(browser, PHONE, has_touch=True) as phone, a_person(browser) as box:
        await box.goto(street.box_page)
        await expect(box.get_by_role("button", name=f"Door {door}:")).to_be_visible()
        await sign_in(phone, street, OPERATOR)
        await phone.locator("details.menu summary").click()
        await phone.locator("details.menu").get_by_role("link", name="Removal").click()
        await phone.screenshot(path=picture("walk-removal-1-list"))
        await phone.get_by_role("link", name=held["external_order_id"]).click()
        await phone.screenshot(path=picture("walk-removal-2-open"))
        await phone.get_by_role("button", name=f"Open {door}").click()
        await shows(phone, "empty_it")
        await phone.screenshot(path=picture("walk-removal-3-empty"))
        await expect(box.locator('[data-sensed="open"]')).to_have_count(1)
        await box.get_by_role("button", name=f"Take the parcel out of {door}").click()
        await box.get_by_role("button", name=f"Door {door}:").click()
        await shows(phone, "confirm")
        # The battery dies: another phone goes on where the door is.
        await phone.reload()
        await shows(phone, "confirm")
        await phone.screenshot(path=picture("walk-removal-4-confirm"))
        await hold(phone)
        await shows(phone, "done")
        await expect(phone.locator(".told .done")).to_have_count(2)
        await phone.screenshot(path=picture("walk-removal-5-done"))
    assert street.call("GET", f"/shipments/{held['id']}")["compartment_state"] == "available"


async def shows(tab: Page, screen: str) -> None:
    await expect(tab.locator(f'[data-screen="{screen}"]')).to_be_visible(timeout=20_000)


async def hold(tab: Page) -> None:
    button = tab.locator("[data-hold]")
    await button.dispatch_event("pointerdown", {"button": 0, "pointerId": 1, "isPrimary": True})
    await shows(tab, "done")


async def test_an_emergency_release_takes_two_people(browser: Browser, street: Street, picture: Picture) -> None:
    held = street.reserve("loaded", "fault")
    path = f"removals/{held['id']}/emergency"
    password = street.said["admin_password"]
    async with a_person(browser, PHONE) as first, a_person(browser, DESK) as second:
        await sign_in(first, street, OPERATOR)
        await first.goto(street.said["admin_url"] + path)
        await still_me(first, password)
        await first.get_by_label("Code on the door").fill("Z9")
        await first.get_by_label("Why can the door itself not show it?").fill("The sensor is broken")
        await first.get_by_label("I have looked inside").check()
        await first.get_by_role("button", name="Give the first word").click()
        await expect(first.locator(".invalid-feedback")).to_be_visible()
        await first.get_by_label("Code on the door").fill(held["compartment_code"])
        await first.get_by_label("I have looked inside").check()
        await first.get_by_role("button", name="Give the first word").click()
        await expect(first.get_by_role("heading", name="Now a second person")).to_be_visible()
        await first.screenshot(path=picture("walk-emergency-1"))
        assert street.call("GET", f"/shipments/{held['id']}")["compartment_state"] == "awaiting_removal"
        await sign_in(second, street, street.said["admin_email"])
        await second.goto(street.said["admin_url"] + path)
        await still_me(second, password)
        await expect(second.get_by_text("The sensor is broken")).to_be_visible()
        await second.get_by_label("Code on the door").fill(held["compartment_code"])
        await second.get_by_label("I have looked inside").check()
        await second.screenshot(path=picture("walk-emergency-2"))
        await second.get_by_role("button", name="I say the same: release it").click()
        await shows(second, "done")
    assert street.call("GET", f"/shipments/{held['id']}")["compartment_state"] == "available"


async def test_an_invitation_from_the_command_line_leads_to_the_demos_administration(
    browser: Browser, street: Street
) -> None:
    who = ("--tenant", street.said["tenant"], "--email", "ivo@firm.example", "--name", "Ivo")
    link = street.command("user", "invite", *who).split()[-1]
    assert link.startswith(street.said["admin_url"] + "link/")
    async with a_person(browser) as ivo:
        await ivo.goto(link)
        await expect(ivo.get_by_role("button", name="Come in")).to_be_visible()


async def test_todays_numbers_follow_while_one_looks(browser: Browser, street: Street) -> None:
    street.reserve()  # so that there is a chart
    async with a_person(browser) as owner:
        await sign_in(owner, street, street.said["admin_email"])
        tile = owner.locator('[data-today="reserved"]')
        before = int(await tile.inner_text())
        street.reserve()
        await expect(tile).to_have_text(str(before + 1), timeout=10_000)
        await owner.get_by_text("The numbers as a table").click()
        await expect(owner.locator("[data-numbers] tr").first.locator("td").first).to_have_text(str(before + 1))


async def test_times_are_typed_in_the_zone_in_which_they_are_shown(browser: Browser, street: Street) -> None:
    """Kabul is 4:30 before UTC."""
    midnight = datetime.now(KABUL).replace(hour=0, minute=0, second=0, microsecond=0)
    new = ("webhook", "add", "--tenant", street.said["tenant"], "--url", "http://127.0.0.1:9/", "--json")
    endpoint = json.loads(street.command(*new))["id"]
    async with a_person(browser, timezone_id="Asia/Kabul") as owner:
        await sign_in(owner, street, street.said["admin_email"])
        await owner.goto(f"{street.said['admin_url']}endpoints/{endpoint}")
        since = owner.get_by_label("Since, in Asia/Kabul")
        await expect(since).to_have_value(f"{midnight:%Y-%m-%dT%H:%M}")
        await owner.get_by_role("button", name="Replay", exact=True).click()
        shown = owner.locator("#replay p.small time")
        await expect(shown).to_have_attribute("datetime", f"{midnight.astimezone(UTC):%Y-%m-%dT%H:%M:00.000Z}")
        await owner.goto(street.said["admin_url"] + "audit")
        await owner.get_by_label("From, a day in Asia/Kabul").fill(f"{midnight:%Y-%m-%d}")
        await owner.get_by_role("button", name="Show", exact=True).click()
        await expect(owner).to_have_url(re.compile("zone=Asia%2FKabul"))
        await expect(owner.get_by_label("To, a day in Asia/Kabul")).to_be_visible()
    street.command("webhook", "remove", endpoint, "--tenant", street.said["tenant"])
