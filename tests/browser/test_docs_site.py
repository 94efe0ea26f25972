"""Every page of the built docs, at a desk and on a phone, light and dark: it fits, axe-core finds nothing, no script
fails, nobody but the site itself is asked, and a picture of each is kept."""

from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.offices import DESK, PHONE, Picture, a_person
from tests.browser.sites import a_site
from tests.browser.test_admin_screens import AXE, RULES, too_wide

Site = tuple[str, list[str]]
Theme = Literal["light", "dark"]
OTHER: dict[Theme, Theme] = {"light": "dark", "dark": "light"}
ALIKE = ("decisions/", "source/")  # axe-core sees each once; what a phone changes, it sees in the others


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with a_site(tmp_path_factory.mktemp("docs")) as site:
        yield site


def strangers_of(tab: Page, address: str) -> list[str]:
    """What is asked of others than the site, from now on."""
    asked: list[str] = []
    tab.on("request", lambda one: None if one.url.startswith((address, "data:", "blob:")) else asked.append(one.url))
    return asked


@pytest.mark.slow
@pytest.mark.parametrize(("size", "theme"), [(DESK, "light"), (PHONE, "dark")], ids=["desk", "phone"])
async def test_every_page_fits_is_accessible_and_asks_nobody_else(
    browser: Browser, site: Site, picture: Picture, size: tuple[int, int], theme: Theme
) -> None:
    address, pages = site
    found: dict[str, list[str]] = {}
    async with a_person(browser, size, color_scheme=theme) as tab:
        asked = strangers_of(tab, address)
        for page in pages:
            await tab.goto(address + page)
            name = page.strip("/").replace("/", "-").removesuffix(".html") or "home"
            if page == "api/":  # Scalar's own page, which has no words of ours but the document's
                await expect(tab.locator(".scalar-app").first).to_be_visible(timeout=20_000)
            elif size == DESK or not page.startswith(ALIKE):
                found[page] = await faults(tab)
            for colours in OTHER[theme], theme:
                await tab.emulate_media(color_scheme=colours)
                await tab.screenshot(path=picture(f"docs-{name}-{size[0]}-{colours}"))
            found[page] = found.get(page, []) + await too_wide(tab)
    assert {page: wrong for page, wrong in found.items() if wrong} == {}
    assert asked == []
    assert len(pages) > 40


async def test_a_page_follows_the_colours_that_were_chosen(browser: Browser, site: Site) -> None:
    address, _ = site
    async with a_person(browser, color_scheme="light") as tab:
        await tab.goto(address + "concepts/")
        edge = tab.locator("svg.drawn rect.way").first
        light = await edge.evaluate("one => getComputedStyle(one).fill")
        await tab.get_by_title("Colours: as the system. Switch to light").click()
        await tab.get_by_title("Colours: light. Switch to dark").click()
        await expect(tab.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
        assert await edge.evaluate("one => getComputedStyle(one).fill") != light


async def test_search_finds_a_code_without_asking_anybody(browser: Browser, site: Site) -> None:
    address, _ = site
    async with a_person(browser) as tab:
        asked = strangers_of(tab, address)
        await tab.goto(address)
        await tab.keyboard.press("/")
        await tab.keyboard.type("external_order_conflict")
        await expect(tab.get_by_role("option", name="external_order_conflict")).to_be_visible(timeout=20_000)
        assert asked == []


async def faults(tab: Page) -> list[str]:
    """What axe-core finds. Rows of a table are alike, and so are words of code: the first stand for all."""
    await tab.evaluate(AXE)
    report = await tab.evaluate(
        "rules => axe.run({ exclude: ['tbody tr:nth-child(n+4)', 'pre code > span:nth-child(n+40)'] }, "
        "{ runOnly: rules, resultTypes: ['violations'] })",
        RULES,
    )
    return [f"{one['id']}: {node['target']}" for one in report["violations"] for node in one["nodes"][:3]]
