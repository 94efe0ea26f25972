"""The API's reference in a browser: it draws the document, and in a sandbox a call is tried for real. Nobody else is
asked, and nothing is kept of the key."""

import json
import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.offices import DESK, PHONE, Picture, Street, a_person, a_street
from tests.browser.test_admin_screens import too_wide


@pytest.fixture(scope="module")
def street(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Street]:
    with a_street(tmp_path_factory.mktemp("street")) as street:
        yield street


async def opened(tab: Page, street: Street) -> list[str]:
    """The reference, drawn; every address that is asked from now on."""
    asked: list[str] = []
    tab.on("request", lambda one: asked.append(one.url))
    await tab.goto(street.said["base_url"] + "/docs")
    await expect(tab.get_by_role("heading", name="Reserve a compartment")).to_be_visible(timeout=30_000)
    return asked


async def test_a_reservation_is_tried_from_the_reference(browser: Browser, street: Street, picture: Picture) -> None:
    base, key = street.said["base_url"], street.said["api_key"]
    async with a_person(browser, DESK) as tab:
        asked = await opened(tab, street)
        await tab.get_by_label("Bearer Token").fill(key)
        await tab.get_by_role("button", name="Test Request (post /shipments)").click()
        client = tab.get_by_role("dialog", name="API Client")
        body = json.dumps({"box_id": street.box_id, "external_order_id": "tried-1"})
        await client.get_by_role("region", name="Request Body").get_by_role("textbox").fill(body)
        async with tab.expect_response(f"{base}/shipments") as answered:
            await client.get_by_role("button", name=re.compile("^Send post request")).click()
        answer = await (await answered.value).json()
        await expect(client.get_by_text(answer["pickup_pin"])).to_be_visible()
        await tab.screenshot(path=picture("reference-tried"))
        kept = await tab.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])")
    (found,) = street.call("GET", "/shipments?external_order_id=tried-1")["items"]
    assert (found["id"], found["status"]) == (answer["id"], "reserved")
    assert key not in kept
    assert [url for url in asked if not url.startswith((base, "data:", "blob:"))] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_on_a_phone_it_fits(browser: Browser, street: Street, picture: Picture, theme: str) -> None:
    async with a_person(browser, PHONE, color_scheme=theme) as tab:
        await opened(tab, street)
        await tab.screenshot(path=picture(f"reference-{PHONE[0]}-{theme}"))
        assert await too_wide(tab) == []


def test_the_policy_lets_nothing_else_in(street: Street) -> None:
    answer = httpx.get(street.said["base_url"] + "/docs", timeout=30)
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert (policy["script-src"], policy["connect-src"]) == ("'self'", "'self'")
    assert not re.search(r"<script(?![^>]* src=)|https?://(?!www\.w3\.org/2000/svg)", answer.text)
