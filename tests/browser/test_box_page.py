"""The virtual box as a person uses it, in a real browser: by hand, by keyboard, on a phone, by ear, in both themes."""

import asyncio
import re
from collections.abc import Callable
from datetime import timedelta
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, expect
from playwright.async_api import Page as Tab

from pickupbox.box.clock import ticks
from pickupbox.box.keypad import Throttle
from pickupbox.devices.messages import RosterTaken
from pickupbox.domain.throttle import FAILURES_A_DAY
from tests.box.playing import OWN_PIN, PIN, Page, roster
from tests.browser.conftest import a_tab
from tests.support.waiting import until

Picture = Callable[[str], Path]
AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
CYCLE = ["unlocked", "door_opened", "door_closed"]
# Each text of the live region, in turn: a later one may come before anybody looks.
LISTENS = """() => {
    window.heard = [];
    const says = document.querySelector('[role="status"]');
    new MutationObserver(() => heard.push(says.textContent)).observe(says, { childList: true });
}"""
TARGET = 44  # pixels that a finger needs


async def click_pin(tab: Tab, pin: str) -> None:
    for digit in pin:
        await tab.locator("#keys").get_by_role("button", name=digit, exact=True).click()


def hand(tab: Tab, code: str) -> Locator:
    return tab.get_by_role("button", name=f"Door {code}:")


async def sees(tab: Tab, title: str) -> None:
    await expect(tab.locator("#title")).to_have_text(title, timeout=15_000)


async def test_the_life_of_a_shipment_by_hand(browser: Browser, box: Page, picture: Picture) -> None:
    async with a_tab(browser, box.url) as tab:
        await sees(tab, "Enter your PIN")
        await tab.screenshot(path=picture("box-1-waits"))
        await click_pin(tab, PIN)
        await sees(tab, "Opening A1")
        await expect(tab.locator('[data-sensed="open"]')).to_have_count(1)
        await tab.get_by_role("button", name="Put a parcel into A1").click()
        await expect(tab.get_by_role("button", name="Take the parcel out of A1")).to_be_visible()
        await tab.screenshot(path=picture("box-2-loaded"))
        await hand(tab, "A1").click()
        await until(lambda: [happening for happening, _ in box.service.said()] == CYCLE)
        await box.service.tell(roster(box.service, opens_in=timedelta(seconds=4)))
        await expect(tab.locator(".protected .time")).to_have_text("0:02")
        await tab.screenshot(path=picture("box-3-protected"))
        await expect(tab.locator(".protected")).to_have_count(0, timeout=10_000)
        await click_pin(tab, PIN)
        await expect(tab.locator('[data-sensed="open"]')).to_have_count(1)
        await tab.get_by_role("button", name="Take the parcel out of A1").click()
        await hand(tab, "A1").click()
        await until(lambda: [happening for happening, _ in box.service.said()] == CYCLE * 2)
        assert box.play.driver.holding == set()
        assert PIN not in await tab.content()


async def test_the_same_with_the_cable_cut(browser: Browser, box: Page, picture: Picture) -> None:
    await box.service.tell(roster(box.service, opens_in=timedelta(seconds=-60)))
    await until(lambda: any(isinstance(message, RosterTaken) for message in box.service.heard))
    box.play.driver.holding.add("A2")
    async with a_tab(browser, box.url) as tab:
        await tab.get_by_role("switch", name="Cut the cable").click()
        await sees(tab, "No connection")
        await click_pin(tab, OWN_PIN)
        await sees(tab, "Opening A2")
        await expect(tab.locator('[data-sensed="open"]')).to_have_count(1)
        await tab.get_by_role("button", name="Take the parcel out of A2").click()
        await hand(tab, "A2").click()
        await expect(tab.locator("#linked")).to_contain_text("in the journal")
        await tab.screenshot(path=picture("box-4-cut"))
        assert box.service.said() == []
        await tab.get_by_role("switch", name="Cut the cable").click()
        await until(lambda: box.service.said() == [(happening, "A2") for happening in CYCLE])
        await expect(tab.locator("#linked")).to_have_text("Connected")
        assert box.play.driver.holding == set()


async def test_everything_is_done_without_a_mouse(browser: Browser, box: Page) -> None:
    async with a_tab(browser, box.url, reduced_motion="reduce") as tab:
        await tab.keyboard.type("12")
        await expect(tab.locator("#slots .full")).to_have_count(2)
        await tab.keyboard.press("Escape")
        await expect(tab.locator("#slots .full")).to_have_count(0)
        await tab.keyboard.type(PIN)
        await expect(tab.locator('[data-sensed="open"]')).to_have_count(1)
        await tab_to(tab, "Put a parcel into A1")
        await tab.keyboard.press("Enter")
        await until(lambda: box.play.driver.holding == {"A1"})
        await tab_to(tab, "Door A1: open. Close it")
        await tab.keyboard.press("Enter")
        await until(lambda: len(box.service.said()) == 3)
        await tab_to(tab, "Door B6: closed and locked")
        await tab_to(tab, "Cut the cable")
        await tab.keyboard.press("Space")
        await sees(tab, "No connection")


async def tab_to(tab: Tab, name: str) -> None:
    for _ in range(60):
        await tab.keyboard.press("Tab")
        focused = tab.locator(":focus")
        said = await focused.get_attribute("aria-label") or await focused.inner_text()
        if said.startswith(name):
            return
    raise AssertionError(f"Tab does not reach {name!r}")


async def test_it_is_told_to_those_who_listen(browser: Browser, box: Page) -> None:
    async with a_tab(browser, box.url) as tab:
        await tab.evaluate(LISTENS)
        await tab.keyboard.type("000000")
        await hears(tab, "Wrong PIN. Check the six digits and try again.")
        await hand(tab, "B3").click()
        await hears(tab, "B3 is locked. Its PIN opens it.")
        await tab.keyboard.type(PIN)
        await hears(tab, "A1 is open.")
        await hand(tab, "A1").click()
        await hears(tab, "A1 is closed.")


async def hears(tab: Tab, text: str) -> None:
    async with asyncio.timeout(15):
        while not any(text in said for said in await tab.evaluate("heard")):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_messages_wait_while_someone_reads(browser: Browser, box: Page) -> None:
    async with a_tab(browser, box.url) as tab:
        rows = tab.locator("#lines li")
        await expect(rows.filter(has_text="started")).to_have_count(1)
        await tab.get_by_role("button", name="Pause").click()
        before = await rows.count()
        await tab.keyboard.type("000000")
        await sees(tab, "Wrong PIN")
        await expect(tab.locator("#pause")).to_have_text(re.compile(r"^[0-9]+ new$"))
        assert await rows.count() == before
        await tab.locator("#pause").click()
        await expect(rows.filter(has_text="refused")).to_have_count(1)
        await expect(rows.filter(has_text="••••••")).to_have_count(1)


async def test_the_letters_come_when_the_compartment_is_asked_for(browser: Browser, box: Page) -> None:
    async with a_tab(browser, box.url, 390, 844) as tab:
        await expect(tab.locator("#letters")).to_be_hidden()
        box.play._box.throttle = Throttle(day=FAILURES_A_DAY, day_ends=ticks() + 60)
        await sees(tab, "Enter compartment and PIN")
        await tab.locator("#letters").get_by_role("button", name="A").click()
        await tab.locator("#keys").get_by_role("button", name="1", exact=True).click()
        await expect(tab.locator("#code")).to_have_text("A1")
        await tab.get_by_role("button", name="OK, enter").click()
        await sees(tab, "PIN for A1")


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_nobody_is_kept_out(browser: Browser, box: Page, width: int, theme: str, picture: Picture) -> None:
    async with a_tab(browser, box.url, width, color_scheme=theme) as tab:
        await accessible(tab)
        await tab.screenshot(path=picture(f"box-{width}-{theme}"))
        await tab.keyboard.type(PIN)
        await expect(tab.locator('[data-sensed="open"]')).to_have_count(1)
        await tab.get_by_role("switch", name="Jam its lock").click()
        await tab.get_by_role("switch", name="Cut the cable").click()
        await expect(tab.locator("#linked")).to_contain_text("No connection")
        await accessible(tab)
        await fits(tab, width)
        await tab.get_by_role("switch", name="Cut the power").click()
        await expect(tab.locator("#glass")).to_have_attribute("data-tone", "off")
        await accessible(tab)


async def accessible(tab: Tab) -> None:
    await tab.evaluate(AXE)
    found = await tab.evaluate("axe.run()")
    assert len(found["passes"]) > 15
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]] == []


async def fits(tab: Tab, width: int) -> None:
    assert await tab.evaluate("document.documentElement.scrollWidth") <= width
    for control in await tab.locator("button:visible, select:visible").all():
        size = await control.bounding_box()
        assert size is not None
        assert min(size["width"], size["height"]) >= TARGET
