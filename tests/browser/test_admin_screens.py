"""Every screen of the administration, in both themes, at a desk and on a phone: axe-core finds nothing, nothing is
wider than the phone, and a picture of each is kept."""

from collections.abc import Iterator
from importlib.resources import files

import pytest
from playwright.async_api import Browser, Page

from tests.browser.offices import DESK, PHONE, Picture, Street, a_person, a_street, sign_in

AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FIRST_LOAD = 300 * 1024
SMALLEST = (360, 740)


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Street]:
    with a_street(tmp_path_factory.mktemp("street")) as street:
        yield street


@pytest.fixture(scope="module")
def screens(street: Street) -> dict[str, str]:
    """Each screen by name, with something on it."""
    held = street.reserve("loaded", "fault")
    street.reserve("loaded", "picked_up")
    street.reserve("loaded")
    shipment, box = held["id"], street.box_id
    return {
        "overview": "",
        "boxes": "boxes",
        "box": f"boxes/{box}",
        "box-new": "boxes/new",
        "box-settings": f"boxes/{box}/settings",
        "box-doors": f"boxes/{box}/doors",
        "box-sticker": f"boxes/{box}/sticker",
        "box-device": f"boxes/{box}/device",
        "shipments": "shipments",
        "shipment": f"shipments/{shipment}",
        "removals": "removals",
        "removal": f"removals/{shipment}",
        "keys": "keys",
        "endpoints": "endpoints",
        "endpoint-new": "endpoints/new",
        "requests": "requests",
        "team": "team",
        "team-invite": "team/invite",
        "audit": "audit",
        "lab": "lab",
        "account": "account",
        "nothing": "boxes/box_nothing",
    }


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
async def test_every_screen_is_accessible_and_fits(
    browser: Browser, street: Street, screens: dict[str, str], picture: Picture, theme: str, size: tuple[int, int]
) -> None:
    found: dict[str, list[str]] = {}
    async with a_person(browser, size, color_scheme=theme) as tab:
        await tab.goto(street.said["admin_url"] + "sign-in")
        await tab.screenshot(path=picture(f"admin-sign-in-{size[0]}-{theme}"))
        await sign_in(tab, street, street.said["admin_email"])
        for name, path in screens.items():
            await tab.goto(street.said["admin_url"] + path)
            await tab.wait_for_timeout(300)  # what is live has come
            await tab.screenshot(path=picture(f"admin-{name}-{size[0]}-{theme}"), full_page=True)
            found[name] = await violations(tab) + await too_wide(tab)
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


async def test_the_smallest_phone_shows_every_screen_in_german_without_scrolling_sideways(
    browser: Browser, street: Street, screens: dict[str, str]
) -> None:
    async with a_person(browser, SMALLEST, locale="de-DE") as tab:
        await tab.goto(street.said["admin_url"] + "sign-in")
        await tab.get_by_label("E-Mail-Adresse").fill(street.said["admin_email"])
        await tab.get_by_role("button", name="Weiter").click()
        await tab.get_by_label("Passwort").fill(street.said["admin_password"])
        await tab.get_by_role("button", name="Anmelden").click()
        wide = {}
        for name, path in screens.items():
            await tab.goto(street.said["admin_url"] + path)
            wide[name] = await too_wide(tab)
    assert {name: wrong for name, wrong in wide.items() if wrong} == {}


async def test_the_first_load_is_small(browser: Browser, street: Street) -> None:
    context = await browser.new_context()
    tab = await context.new_page()
    session = await context.new_cdp_session(tab)
    await session.send("Network.enable")
    received: list[float] = []
    session.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    await sign_in(tab, street, street.said["admin_email"])
    await tab.wait_for_timeout(500)
    await context.close()
    assert 50 * 1024 < sum(received) < FIRST_LOAD


async def violations(tab: Page) -> list[str]:
    await tab.evaluate(AXE)
    report = await tab.evaluate("rules => axe.run(document, { runOnly: rules, resultTypes: ['violations'] })", RULES)
    return [
        f"{one['id']}: {node['target']} {node.get('failureSummary', '')}"
        for one in report["violations"]
        for node in one["nodes"][:3]
    ]


async def too_wide(tab: Page) -> list[str]:
    width, page = await tab.evaluate("[innerWidth, document.documentElement.scrollWidth]")
    return [f"{page} px wide in {width}"] if page > width else []
