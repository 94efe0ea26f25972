"""The virtual box's page with everything real behind it: API, gateway, worker, broker and the box's own process."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect
from playwright.async_api import Page as Tab

from tests.box.street import Broker
from tests.browser.conftest import a_tab
from tests.browser.test_box_page import click_pin, hand, sees
from tests.readme.demos import running_demo, without_settings

Picture = Callable[[str], Path]
SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Street:
    """A demo, with the page of one of its boxes."""

    url: str
    box_id: str
    database_url: str
    http: httpx.AsyncClient

    async def reserve(self, order: str) -> dict[str, Any]:
        answer = await self.http.post("/shipments", json={"box_id": self.box_id, "external_order_id": order})
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    async def shows(self, shipment: str, *wanted: object) -> None:
        """Wait until the API shows status, compartment state and pickup enabled so."""
        read: dict[str, Any] = {}
        try:
            async with asyncio.timeout(SECONDS):
                while (read.get("status"), read.get("compartment_state"), read.get("pickup_enabled")) != wanted:
                    await asyncio.sleep(0.1)
                    read = (await self.http.get(f"/shipments/{shipment}")).json()
        except TimeoutError:
            raise AssertionError(f"it shows {read}") from None

    def is_consistent(self) -> None:
        """`pickupbox check` finds nothing."""
        environment = {**without_settings(), "PICKUPBOX_DATABASE_URL": self.database_url}
        command = [sys.executable, "-m", "pickupbox", "check"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    broker = Broker(tmp_path_factory.mktemp("broker"))
    try:
        with running_demo("--json", PICKUPBOX_MQTT_URL=f"mqtt://127.0.0.1:{broker.port}") as running:
            yield json.loads(running.said_when_ready("{").splitlines()[-1])
    finally:
        broker.kill()


@pytest_asyncio.fixture
async def street(demo: dict[str, Any]) -> AsyncIterator[Street]:
    box_id, url = next(iter(demo["box_pages"].items()))
    headers = {"Authorization": f"Bearer {demo['api_key']}"}
    async with httpx.AsyncClient(base_url=demo["base_url"], headers=headers, timeout=SECONDS) as http:
        yield Street(url, box_id, demo["database_url"], http)


async def load(tab: Tab, street: Street, order: str) -> tuple[str, str, str]:
    """Reserve, type the PIN, put the parcel in, close; then it is protected."""
    made = await street.reserve(order)
    shipment, pin, code = made["id"], made["pickup_pin"], made["compartment_code"]
    await sees(tab, "Enter your PIN")
    await click_pin(tab, pin)
    await sees(tab, f"Opening {code}")
    await expect(tab.locator('[data-sensed="open"]')).to_have_count(1)  # nobody is quicker than its sensor
    await tab.get_by_role("button", name=f"Put a parcel into {code}").click()
    await hand(tab, code).click()
    await expect(tab.locator(".protected .time")).to_be_visible(timeout=15_000)
    return shipment, pin, code


async def collect(tab: Tab, pin: str, code: str) -> None:
    await click_pin(tab, pin)
    await sees(tab, f"Opening {code}")
    await expect(tab.locator('[data-sensed="open"]')).to_have_count(1)
    await tab.get_by_role("button", name=f"Take the parcel out of {code}").click()
    await hand(tab, code).click()
    await expect(tab.locator('[data-sensed="open"]')).to_have_count(0)


@pytest.mark.slow
async def test_the_whole_life_of_a_shipment_on_the_page(browser: Browser, street: Street, picture: Picture) -> None:
    async with a_tab(browser, street) as tab:
        shipment, pin, code = await load(tab, street, "life")
        await tab.screenshot(path=picture("street-1-protected"))
        await expect(tab.locator(".protected")).to_have_count(0, timeout=15_000)
        await street.shows(shipment, "loaded", "occupied", True)
        await collect(tab, pin, code)
        await street.shows(shipment, "picked_up", "cooldown", False)
        await tab.screenshot(path=picture("street-2-collected"))
        await street.shows(shipment, "picked_up", "available", False)
        await sees(tab, "Enter your PIN")
        await click_pin(tab, pin)
        await sees(tab, "Wrong PIN")
        assert pin not in await tab.content()
    street.is_consistent()


@pytest.mark.slow
async def test_the_same_with_the_cable_cut_before_the_pickup(
    browser: Browser, street: Street, picture: Picture
) -> None:
    async with a_tab(browser, street) as tab:
        shipment, pin, code = await load(tab, street, "cut")
        await expect(tab.locator(".protected")).to_have_count(0, timeout=15_000)
        await street.shows(shipment, "loaded", "occupied", True)
        await tab.get_by_role("switch", name="Cut the cable").click()
        await sees(tab, "No connection")
        await collect(tab, pin, code)
        await expect(tab.locator("#linked")).to_contain_text("in the journal")
        await tab.screenshot(path=picture("street-3-cut"))
        await street.shows(shipment, "loaded", "occupied", True)
        await tab.get_by_role("switch", name="Cut the cable").click()
        await expect(tab.locator("#linked")).to_have_text("Connected", timeout=15_000)
        await street.shows(shipment, "picked_up", "available", False)
        await tab.screenshot(path=picture("street-4-mended"))
    street.is_consistent()
