"""The virtual box's page with everything real behind it: API, gateway, worker, broker and the box's own process."""

from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, expect
from playwright.async_api import Page as Tab

from tests.browser.conftest import a_tab
from tests.browser.offices import Picture, Street, a_street
from tests.browser.test_box_page import click_pin, hand, sees


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Street]:
    with a_street(tmp_path_factory.mktemp("street")) as street:
        yield street


async def load(tab: Tab, street: Street) -> tuple[str, str, str]:
    """Reserve, type the PIN, put the parcel in, close; then it is protected."""
    made = street.reserve()
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
    async with a_tab(browser, street.box_page) as tab:
        shipment, pin, code = await load(tab, street)
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
    street.command("check")


@pytest.mark.slow
async def test_the_same_with_the_cable_cut_before_the_pickup(
    browser: Browser, street: Street, picture: Picture
) -> None:
    async with a_tab(browser, street.box_page) as tab:
        shipment, pin, code = await load(tab, street)
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
    street.command("check")
