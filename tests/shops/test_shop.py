"""The example shop as its customers use it, in Chromium, against a demo with everything running."""

import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.offices import DESK, PHONE, Picture, Street, a_person
from tests.browser.test_admin_screens import too_wide, violations
from tests.browser.test_box_page import click_pin, hand, sees
from tests.readme.demos import without_settings
from tests.shops.endpoints import SECONDS, event_of, send
from tests.shops.leaf import FOLDER, Leaf, a_shop

LONGEST = 200


@pytest.fixture(scope="module")
def shop(street: Street, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Leaf]:
    with a_shop(street, tmp_path_factory.mktemp("shop")) as shop:
        yield shop


async def buy(tab: Page, shop: Leaf, box: str = "Central Station") -> str:
    """Check out; the number of the order."""
    await tab.goto(shop.url)
    await tab.get_by_role("link", name="Buy Green tea").click()
    await tab.get_by_label("Your name").fill("Ada")
    await tab.get_by_label(box).check()
    await tab.get_by_role("button", name="Buy for").click()
    await says(tab, "We are packing it")
    return tab.url.rpartition("/")[2]


async def says(tab: Page, title: str) -> None:
    await expect(tab.get_by_role("heading", level=1)).to_have_text(title, timeout=SECONDS * 1000)


def shipments_of(street: Street, order: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = street.call("GET", f"/shipments?external_order_id={order}")["items"]
    return found


def simulate(street: Street, order: str, *events: str) -> None:
    for event in events:
        shipment = shipments_of(street, order)[-1]["id"]
        street.call("POST", f"/sandbox/shipments/{shipment}/events", json={"event": event})


def pin_of(street: Street, order: str) -> str:
    pin: str = street.call("GET", f"/shipments/{shipments_of(street, order)[-1]['id']}/pickup-pin")["pickup_pin"]
    return pin


async def test_a_parcel_from_checkout_to_the_customers_hands(
    browser: Browser, street: Street, shop: Leaf, picture: Picture
) -> None:
    async with a_person(browser, PHONE) as customer, a_person(browser) as at_the_box:
        order = await buy(customer, shop)
        pin = pin_of(street, order)
        (shipment,) = shipments_of(street, order)
        code = shipment["compartment_code"]
        assert re.search(rf"^{order}  Central Station, {code}  PIN to load: {pin}$", shop.packing(), re.MULTILINE)
        assert not shows(await customer.content(), pin)

        await at_the_box.goto(street.box_page)
        await sees(at_the_box, "Enter your PIN")
        await click_pin(at_the_box, pin)
        await expect(at_the_box.locator('[data-sensed="open"]')).to_have_count(1)
        await at_the_box.get_by_role("button", name=f"Put a parcel into {code}").click()
        await hand(at_the_box, code).click()
        await says(customer, "Your parcel is ready")
        assert shows(await customer.content(), pin)
        await expect(customer.locator("article")).to_contain_text(f"Central Station, and compartment {code} opens")
        await customer.screenshot(path=picture("shop-ready-390"), full_page=True)

        await sees(at_the_box, "Enter your PIN")
        await click_pin(at_the_box, pin)
        await expect(at_the_box.locator('[data-sensed="open"]')).to_have_count(1)
        await at_the_box.get_by_role("button", name=f"Take the parcel out of {code}").click()
        await hand(at_the_box, code).click()
        await says(customer, "Collected")
        assert not shows(await customer.content(), pin)
    assert kept_pins(shop, shipment["id"]) == []
    assert pin not in shop.log.read_text()
    assert shop.secret not in shop.log.read_text()
    assert street.said["api_key"] not in shop.log.read_text()


async def test_a_checkout_that_is_sent_twice_is_one_order(browser: Browser, street: Street, shop: Leaf) -> None:
    async with a_person(browser) as customer:
        await customer.goto(f"{shop.url}/checkout/cup")
        await customer.get_by_label("Your name").fill("Ada")
        await customer.get_by_label("Central Station").check()
        order, again = await customer.evaluate(
            """async () => {
                const form = document.querySelector("form"), body = new URLSearchParams(new FormData(form));
                const sent = [1, 2].map(() => fetch(form.action, { method: "post", body }));
                return (await Promise.all(sent)).map((answer) => answer.url);
            }"""
        )
        assert order == again
        assert len(shipments_of(street, order.rpartition("/")[2])) == 1


async def test_the_shop_is_killed_before_it_noted_the_pin_and_its_order_goes_on(
    browser: Browser, street: Street, shop: Leaf
) -> None:
    async with a_person(browser) as customer:
        order = await buy(customer, shop)
        await customer.goto("about:blank")
        shop.kill()
        forget_pins(shop)
        simulate(street, order, "loaded")
        shop.start()
        await customer.goto(f"{shop.url}/orders/{order}")
        await says(customer, "Your parcel is ready")
        assert shows(await customer.content(), pin_of(street, order))
        simulate(street, order, "picked_up")
        await says(customer, "Collected")


async def test_after_a_fault_another_compartment_is_reserved_by_itself(
    browser: Browser, street: Street, shop: Leaf
) -> None:
    async with a_person(browser) as customer:
        order = await buy(customer, shop)
        simulate(street, order, "fault")
        await says(customer, "A door is stuck")
        simulate(street, order, "removed")
        await says(customer, "We are packing it")
        first, second = shipments_of(street, order)
        assert (first["status"], second["status"], second["attempt_number"]) == ("fault", "reserved", 2)
        assert pin_of(street, order) in shop.packing()

        late = event_of(first, "fault")
        assert send(f"{shop.url}/webhooks", shop.secret, late) == 200
        await customer.reload()
        await says(customer, "We are packing it")


async def test_a_customer_cancels(browser: Browser, street: Street, shop: Leaf) -> None:
    async with a_person(browser) as customer:
        order = await buy(customer, shop)
        await customer.get_by_role("button", name="Cancel the order").click()
        await says(customer, "Cancelled")
        assert [shipment["status"] for shipment in shipments_of(street, order)] == ["cancelled"]
        await expect(customer.get_by_role("button", name="Cancel the order")).to_have_count(0)


async def test_a_webhook_counts_once_and_only_if_it_is_signed(browser: Browser, street: Street, shop: Leaf) -> None:
    async with a_person(browser) as customer:
        order = await buy(customer, shop)
        (shipment,) = shipments_of(street, order)
        forged = event_of(shipment, "loaded", status="loaded")
        url = f"{shop.url}/webhooks"
        assert send(url, "whsec_" + "A" * 44, forged) == 400
        assert send(url, shop.secret, forged, late=400) == 400
        assert send(url, None, forged) == 400
        await customer.reload()
        await says(customer, "We are packing it")

        assert [send(url, shop.secret, forged) for _ in range(3)] == [200, 200, 200]
        await says(customer, "Your parcel is ready")
        assert shop.log.read_text().count(f"{order}: here your shop writes to the customer") == 1


async def test_an_order_is_shown_to_nobody_else(browser: Browser, shop: Leaf) -> None:
    async with a_person(browser) as customer, a_person(browser) as stranger:
        order = await buy(customer, shop)
        seen = await stranger.context.request.get(f"{shop.url}/orders/{order}")
        cancelled = await stranger.context.request.post(f"{shop.url}/orders/{order}/cancel")
        assert (seen.status, cancelled.status) == (404, 404)


def test_a_full_box_is_said_and_another_can_be_chosen(street: Street, shop: Leaf) -> None:
    box = next(box for box in street.call("GET", "/boxes")["items"] if box["name"] == "Market Square")
    with httpx.Client(headers={"Authorization": f"Bearer {street.said['api_key']}"}, timeout=SECONDS) as http:
        for number in range(100):
            body = {"box_id": box["id"], "external_order_id": f"full-{number}"}
            if http.post(f"{street.said['base_url']}/shipments", json=body).status_code == 409:
                break
    page = httpx.get(f"{shop.url}/checkout/tea", timeout=SECONDS).text
    form = {"customer": "Ada", "box": box["id"], "key": re.findall(r'name="key" value="([^"]+)"', page)[0]}
    refused = httpx.post(f"{shop.url}/checkout/tea", data=form, timeout=SECONDS)
    assert refused.status_code == 409
    assert "Market Square is full at the moment" in refused.text
    assert form["key"] not in refused.text  # the next try is an order of its own


@pytest.mark.parametrize(("size", "theme"), [(DESK, "dark"), (PHONE, "light")], ids=["desk", "phone"])
async def test_every_page_is_accessible_and_fits(
    browser: Browser, street: Street, shop: Leaf, picture: Picture, size: tuple[int, int], theme: str
) -> None:
    found = {}
    async with a_person(browser, size, color_scheme=theme) as tab:

        async def look(name: str) -> None:
            await tab.screenshot(path=picture(f"shop-{name}-{size[0]}-{theme}"), full_page=True)
            found[name] = await violations(tab) + await too_wide(tab)

        await tab.goto(shop.url)
        await look("welcome")
        await tab.goto(f"{shop.url}/checkout/notebook")
        await tab.get_by_label("Central Station").check()
        await look("checkout")
        order = await buy(tab, shop)
        await look("reserved")
        (shipment,) = shipments_of(street, order)
        for status, title in (("loaded", "Your parcel is ready"), ("fault", "A door is stuck")):
            assert send(f"{shop.url}/webhooks", shop.secret, event_of(shipment, status, status=status)) == 200
            await says(tab, title)
            await look(status)
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_without_its_settings_the_shop_says_what_to_do(tmp_path_factory: pytest.TempPathFactory) -> None:
    environment = without_settings() | {"SHOP_DATABASE": str(tmp_path_factory.mktemp("shop") / "shop.sqlite3")}
    for name in ("BASE_URL", "API_KEY", "WEBHOOK_SECRET"):
        environment.pop(name, None)
    command = [sys.executable, "-m", "shop"]
    done = subprocess.run(
        command, cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 1
    assert "'API_KEY' is not set: `just demo` prints" in done.stderr


def test_the_shop_is_small_enough_to_read() -> None:
    lines = {path.name: len(path.read_text().splitlines()) for path in FOLDER.rglob("*.py")}
    assert len(lines) > 3
    assert sum(lines.values()) <= LONGEST, lines


def shows(page: str, pin: str) -> bool:
    return re.search(rf"{pin[:3]}\W*{pin[3:]}", page) is not None


def kept_pins(shop: Leaf, shipment: str) -> list[Any]:
    with closing(sqlite3.connect(shop.database)) as database:
        return database.execute("SELECT pin FROM pins WHERE shipment_id = ?", (shipment,)).fetchall()


def forget_pins(shop: Leaf) -> None:
    with closing(sqlite3.connect(shop.database)) as database, database:
        database.execute("DELETE FROM pins")
