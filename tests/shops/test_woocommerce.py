"""The WooCommerce plugin in a real WordPress, against a demo with everything running.

WooCommerce itself is not among the packages that can be had: tests/shops/wordpress/woocommerce.php stands in for it.
"""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, expect

from tests.browser.offices import Picture, Street
from tests.shops.endpoints import SECONDS, event_of, send, told
from tests.shops.press import PASSWORD, PLUGIN, Press, a_press
from tests.support.processes import free_port


@pytest.fixture(scope="module")
def empty_press(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Press]:
    with a_press(tmp_path_factory.mktemp("press") / "wordpress") as press:
        yield press


@pytest.fixture(scope="module")
def secret(street: Street, empty_press: Press) -> Iterator[str]:
    with told(street, empty_press.webhooks) as secret:
        yield secret


@pytest.fixture
def press(street: Street, empty_press: Press, secret: str) -> Press:
    """The shop, connected."""
    empty_press.do("settings", json.dumps(settings(street, secret)))
    return empty_press


def settings(street: Street, secret: str) -> dict[str, str]:
    return {"base_url": street.said["base_url"], "api_key": street.said["api_key"], "webhook_secret": secret}


def sold(press: Press, box: str = "Central Station") -> int:
    """An order that is paid, and whose reservation was told."""
    order: int = press.do("order", box)
    press.do("status", order, "processing")
    press.do("work")
    until(press, order, lambda shown: "is reserved" in shown["notes"][-1])
    return order


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def until(press: Press, order: int, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The order, once something holds of it."""
    end = time.monotonic() + SECONDS
    shown: dict[str, Any] = {}
    while time.monotonic() < end:
        shown = press.do("show", order)
        if shown["notes"] and holds(shown):
            return shown
        time.sleep(0.2)
    raise AssertionError(f"the order is {shown}; PHP said {press.complaints()[-2000:]}")


def shipments_of(street: Street, press: Press, order: int) -> list[dict[str, Any]]:
    external = press.do("show", order)["external_id"]
    found: list[dict[str, Any]] = street.call("GET", f"/shipments?external_order_id={external}")["items"]
    return found


def simulate(street: Street, shipment: dict[str, Any], *events: str) -> None:
    for event in events:
        street.call("POST", f"/sandbox/shipments/{shipment['id']}/events", json={"event": event})


def mails_to(press: Press, order: int) -> list[str]:
    mine = [mail for mail in press.mail.received if mail["To"] == f"ada-{order}@customer.test"]
    return [payload.decode() for mail in mine if isinstance(payload := mail.get_payload(decode=True), bytes)]


def test_the_checkout_offers_one_rate_for_each_box(street: Street, press: Press) -> None:
    boxes = {box["name"]: box["id"] for box in street.call("GET", "/boxes")["items"]}
    rates = press.do("rates")
    assert [rate["label"] for rate in rates] == [
        "Pickup box: Central Station, Platform 1",
        "Pickup box: Market Square, Beside the fountain",
    ]
    assert [rate["meta_data"]["_pickupbox_box_id"] for rate in rates] == list(boxes.values())
    assert rates[0]["id"] == f"pickupbox:3:{boxes['Central Station']}"


def test_an_order_from_payment_to_the_customers_hands(street: Street, press: Press) -> None:
    order = sold(press)
    (shipment,) = shipments_of(street, press, order)
    assert (shipment["status"], shipment["customer_name"]) == ("reserved", "Ada")
    pin = street.call("GET", f"/shipments/{shipment['id']}/pickup-pin")["pickup_pin"]
    packing = press.do("show", order)
    assert f"PIN to load: {pin}" in packing["staff_sees"]
    assert packing["customer_sees"] == ""
    assert mails_to(press, order) == []

    simulate(street, shipment, "loaded")
    wait_until(lambda: mails_to(press, order) != [])
    ready = press.do("show", order)
    code = shipment["compartment_code"]
    text = f"Your parcel is ready at Central Station. Type the PIN {pin}, and compartment {code} opens."
    assert [mail.strip() for mail in mails_to(press, order)] == [text]
    assert f"PIN {pin}" in ready["customer_sees"]
    assert ready["status"] == "processing"

    simulate(street, shipment, "picked_up")
    done = until(press, order, lambda shown: shown["status"] == "completed")
    assert done["customer_sees"] == ""
    assert f'"{pin}"' not in done["meta"]
    assert "PIN" not in done["staff_sees"]


def test_an_order_that_is_paid_twice_is_reserved_once(street: Street, press: Press) -> None:
    order = sold(press)
    for status in ("on-hold", "processing", "on-hold", "processing"):
        press.do("status", order, status)
    assert press.do("work") == 2
    assert len(shipments_of(street, press, order)) == 1


def test_an_order_that_goes_another_way_is_left_alone(press: Press) -> None:
    order = press.do("order", "no such box")
    press.do("status", order, "processing")
    assert press.do("work") == 0


def test_a_cancelled_order_frees_its_compartment(street: Street, press: Press) -> None:
    order = sold(press)
    press.do("status", order, "cancelled")
    press.do("work")
    until(press, order, lambda shown: "is cancelled" in shown["notes"][-1])
    assert [shipment["status"] for shipment in shipments_of(street, press, order)] == ["cancelled"]


def test_an_order_that_is_cancelled_before_its_reservation_reserves_nothing(street: Street, press: Press) -> None:
    order = press.do("order", "Central Station")
    press.do("status", order, "processing")
    press.do("status", order, "cancelled")
    press.do("work")
    assert shipments_of(street, press, order) == []


def test_after_a_fault_another_compartment_is_reserved_by_itself(street: Street, press: Press) -> None:
    order = sold(press)
    (first,) = shipments_of(street, press, order)
    simulate(street, first, "fault")
    until(press, order, lambda shown: shown["status"] == "on-hold")
    simulate(street, first, "removed")
    until(press, order, lambda shown: shown["waits"] != [])
    press.do("work")
    until(press, order, lambda shown: shown["status"] == "processing")
    attempts = shipments_of(street, press, order)
    assert [(one["attempt_number"], one["status"]) for one in attempts] == [(1, "fault"), (2, "reserved")]
    press.do("work")
    assert len(shipments_of(street, press, order)) == 2
    pin = street.call("GET", f"/shipments/{attempts[1]['id']}/pickup-pin")["pickup_pin"]
    assert f"PIN to load: {pin}" in press.do("show", order)["staff_sees"]


def test_a_webhook_counts_once_and_only_if_it_is_signed(street: Street, press: Press, secret: str) -> None:
    order = sold(press)
    (shipment,) = shipments_of(street, press, order)
    event = event_of(shipment, "loaded", status="loaded")
    assert send(press.webhooks, "whsec_" + "A" * 44, event) == 400
    assert send(press.webhooks, secret, event, late=400) == 400
    assert send(press.webhooks, None, event) == 400
    assert mails_to(press, order) == []

    press.do("forget_pin", order)
    assert [send(press.webhooks, secret, event) for _ in range(3)] == [200, 200, 200]
    (mail,) = mails_to(press, order)
    assert street.call("GET", f"/shipments/{shipment['id']}/pickup-pin")["pickup_pin"] in mail
    older = event_of(shipment, "reserved", attempt_number=0)
    assert send(press.webhooks, secret, older) == 200
    assert "PIN" in press.do("show", order)["customer_sees"]


def test_of_two_events_of_one_moment_both_count(street: Street, press: Press, secret: str) -> None:
    order = sold(press)
    (shipment,) = shipments_of(street, press, order)
    for kind in ("fault", "door_available"):
        event = event_of(shipment, kind, status="fault") | {"occurred_at": "2099-11-15T10:00:00.381589Z"}
        assert send(press.webhooks, secret, event) == 200
    shown = press.do("show", order)
    assert (shown["status"], len(shown["waits"])) == ("on-hold", 1)
    press.do("work")
    assert (
        shipments_of(street, press, order)[0]["status"] == "reserved"
    )  # nothing is wrong with it: it was our own word


def test_a_service_that_is_away_is_asked_again(street: Street, press: Press, secret: str) -> None:
    order = press.do("order", "Central Station")
    press.do("settings", json.dumps(settings(street, secret) | {"base_url": f"http://127.0.0.1:{free_port()}/v1"}))
    press.do("status", order, "processing")
    press.do("work")
    shown = press.do("show", order)
    assert "It is tried again." in shown["notes"][-1]
    assert [25 < wait <= 30 for wait in shown["waits"]] == [True]
    press.do("work", 60)
    assert [50 < wait <= 60 for wait in press.do("show", order)["waits"]] == [True]
    press.do("settings", json.dumps(settings(street, secret)))
    press.do("work", 60)
    assert [shipment["status"] for shipment in shipments_of(street, press, order)] == ["reserved"]


def test_a_busy_service_is_asked_when_it_said(street: Street, press: Press, secret: str) -> None:
    order = press.do("order", "Central Station")
    with a_busy_service() as url:
        press.do("settings", json.dumps(settings(street, secret) | {"base_url": url}))
        press.do("status", order, "processing")
        press.do("work")
    assert [110 < wait <= 120 for wait in press.do("show", order)["waits"]] == [True]
    press.do("settings", json.dumps(settings(street, secret)))
    press.do("work", 120)
    assert [shipment["status"] for shipment in shipments_of(street, press, order)] == ["reserved"]


@contextmanager
def a_busy_service() -> Iterator[str]:
    class Busy(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(429)
            self.send_header("Retry-After", "120")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Busy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def test_a_refusal_is_written_to_the_order(street: Street, press: Press, secret: str) -> None:
    order = press.do("order", "Central Station")
    press.do("settings", json.dumps(settings(street, secret) | {"api_key": "pbx_test_wrong"}))
    press.do("status", order, "processing")
    press.do("work")
    shown = press.do("show", order)
    assert shown["notes"][-1].startswith("Pickup box, reserve: ")
    assert shown["waits"] == []


async def test_it_is_set_up_on_a_page_of_wordpress(
    browser: Browser, street: Street, press: Press, secret: str, picture: Picture
) -> None:
    press.do("settings", "{}")
    async with await browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        tab = await context.new_page()
        await tab.goto(f"{press.url}/wp-login.php")
        await tab.get_by_label("Username").fill("admin")
        await tab.get_by_label("Password", exact=True).fill(PASSWORD)
        await tab.get_by_role("button", name="Log In").click()
        await tab.goto(f"{press.url}/wp-admin/admin.php?page=pickupbox")
        await expect(tab.get_by_text("Not connected yet.")).to_be_visible()
        await tab.get_by_label("Base address").fill(street.said["base_url"])
        await tab.get_by_label("API key").fill(street.said["api_key"])
        await tab.get_by_label("Webhook secret").fill(secret)
        await tab.get_by_role("button", name="Save Changes").click()
        await expect(tab.get_by_text("Connected. Boxes: 2.")).to_be_visible()
        await expect(tab.get_by_text(press.webhooks)).to_be_visible()
        await tab.screenshot(path=picture("woocommerce-settings"))
        page = await tab.content()
        assert secret not in page
        assert street.said["api_key"] not in page

        await tab.get_by_role("button", name="Save Changes").click()
        await expect(tab.get_by_text("Connected. Boxes: 2.")).to_be_visible()
    order = sold(press)
    assert [shipment["status"] for shipment in shipments_of(street, press, order)] == ["reserved"]


def test_nobody_else_sees_or_saves_the_settings(press: Press) -> None:
    with httpx.Client(base_url=press.url, timeout=SECONDS, follow_redirects=True) as reader:
        reader.get("/wp-login.php")
        reader.post("/wp-login.php", data={"log": "reader", "pwd": PASSWORD, "testcookie": "1"})
        assert reader.get("/wp-admin/profile.php").status_code == 200
        assert reader.get("/wp-admin/admin.php?page=pickupbox").status_code == 403
        form = {"option_page": "pickupbox", "action": "update", "pickupbox[base_url]": "http://127.0.0.1:1/"}
        assert reader.post("/wp-admin/options.php", data=form).status_code == 403


def test_php_has_nothing_to_complain_about(press: Press) -> None:
    sold(press)
    assert [line for line in press.complaints().splitlines() if "plugins/pickupbox" in line] == []


def test_the_plugin_passes_the_linter() -> None:
    sources = sorted(PLUGIN.rglob("*.php"))
    assert len(sources) > 10
    for path in sources:
        subprocess.run(["php", "-l", str(path)], check=True, capture_output=True, timeout=SECONDS)
    command = ["phpcs", "--standard=phpcs.xml", "--warning-severity=1", "-q"]
    done = subprocess.run(command, cwd=PLUGIN.parent, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout
