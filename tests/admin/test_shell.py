"""What holds on every page: whose form it is, what the browser may run, what a stranger and a foreigner see."""

import re
from dataclasses import replace

import pytest
from starlette.requests import Request

from pickupbox.admin.admission import SESSION
from pickupbox.admin.app import make_app
from pickupbox.admin.static import FOLDER, file
from pickupbox.admin.visit import Visit
from pickupbox.domain.roles import Role
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from pickupbox.vault import Vault, new_secret, read_secrets
from tests.admin.office import ORIGIN, Office, Person, client_of
from tests.support.shop import Shop

SETTINGS = {
    "name": "Renamed",
    "location_name": "",
    "address": "",
    "reservation_ttl_minutes": "60",
    "pickup_ttl_minutes": "60",
    "protection_seconds": "10",
    "cooldown_seconds": "10",
    "door_open_seconds": "60",
}


async def change(person: Person, box_id: str, form: dict[str, str], **headers: str) -> tuple[int, bool]:
    """Send the form of a box's settings by hand; its status, and whether the box was renamed."""
    cookie = {"Cookie": f"{SESSION}={person.token}"}
    answer = await person.http.post(f"/boxes/{box_id}/settings", data=SETTINGS | form, headers=cookie | headers)
    return answer.status_code, "Renamed" in (await person.get("/boxes")).text


async def test_a_form_from_elsewhere_changes_nothing(office: Office) -> None:
    person, box = await office.sign_in(Role.OWNER), office.shop.box_id
    ours = {"csrf": await person.csrf()}
    assert await change(person, box, ours) == (403, False)
    assert await change(person, box, ours, Origin="https://evil.example") == (403, False)
    assert await change(person, box, ours, Origin="null") == (403, False)
    assert await change(person, box, ours, Origin=ORIGIN, **{"Sec-Fetch-Site": "cross-site"}) == (403, False)
    assert await change(person, box, {}, Origin=ORIGIN) == (403, False)
    assert await change(person, box, {"csrf": "0" * 64}, Origin=ORIGIN) == (403, False)
    other = await office.sign_in(Role.OWNER)
    assert await change(person, box, {"csrf": await other.csrf()}, Origin=ORIGIN) == (403, False)
    assert await change(person, box, ours, Origin=ORIGIN) == (303, True)


async def test_a_browser_that_sends_no_origin_must_say_that_it_is_our_site(office: Office) -> None:
    person, box = await office.sign_in(Role.OWNER), office.shop.box_id
    ours = {"csrf": await person.csrf()}
    assert await change(person, box, ours, **{"Sec-Fetch-Site": "same-origin"}) == (303, True)


async def test_a_form_that_was_open_during_a_rotation_of_secrets_is_still_ours(
    office: Office, settings: Settings
) -> None:
    person, box, old = await office.sign_in(Role.OWNER), office.shop.box_id, office.core.vault.current
    csrf, (new,) = await person.csrf(), read_secrets(new_secret("k2"))
    steps = [([old, new], (303, True)), ([new, old], (303, True)), ([new], (403, True))]
    for secrets, answer in steps:
        rotated = replace(office.core, vault=Vault(secrets))
        browser = replace(person, http=client_of(make_app(rotated, settings)))
        async with browser.http:
            assert await change(browser, box, {"csrf": csrf}, Origin=ORIGIN) == answer


async def test_no_page_lets_a_browser_run_or_load_what_is_not_ours(office: Office) -> None:
    person = await office.sign_in(Role.OWNER)
    answer = await person.get("/boxes")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert (
        re.findall(r"<script(?![^>]*\bsrc=\"/static/)[^>]*>|\son\w+=|\sstyle=|https?://(?!admin\.test)", answer.text)
        == []
    )


async def test_a_foreign_tenants_things_are_not_there(office: Office, other_shop: Shop) -> None:
    stranger = await office.sign_in(Role.OWNER, other_shop.tenant)
    shipment = await office.shop.reserved("order-1", "loaded", "fault")
    box = office.shop.box_id
    for path in (
        f"/boxes/{box}",
        f"/boxes/{box}/settings",
        f"/boxes/{box}/doors",
        f"/boxes/{box}/device",
        f"/boxes/{box}/sticker",
        f"/shipments/{shipment}",
        f"/removals/{shipment}",
        f"/removals/{shipment}/emergency",
    ):
        await stranger.step_up()
        foreign, missing = await stranger.get(path), await stranger.get(path.replace("01", "zz"))
        assert (foreign.status_code, missing.status_code) == (404, 404), path
    assert (await stranger.post(f"/removals/{shipment}/open")).status_code == 404
    assert (await stranger.post(f"/shipments/{shipment}/cancel")).status_code == 404


async def test_what_is_not_there_is_said_in_the_readers_language(office: Office) -> None:
    person = await office.sign_in(Role.VIEWER)
    german = await person.get("/nowhere", **{"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"})
    english = await person.get("/nowhere", **{"Accept-Language": "fr"})
    assert (german.status_code, english.status_code) == (404, 404)
    assert "There is nothing here" in english.text
    german = await person.get("/boxes/nothing", **{"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"})
    assert "Hier ist nichts" in german.text
    assert '<html lang="de">' in german.text


async def test_a_notice_is_shown_once_and_cannot_be_made_up(office: Office) -> None:
    person, box = await office.sign_in(Role.OWNER), office.shop.box_id
    await person.post(f"/boxes/{box}/settings", SETTINGS)
    assert "Saved." in (await person.get("/boxes")).text
    assert "Saved." not in (await person.get("/boxes")).text
    for made_up in ("WW91IHdvbg==.0000", "WW91IHdvbg==.é", "é.é", "."):
        person.cookies["__Host-notice"] = made_up
        page = await person.http.get("/boxes", headers={b"Cookie": person.cookie().encode("latin-1")})
        assert page.status_code == 200
        assert "You won" not in page.text


@pytest.mark.parametrize("path", ["vendor/tabler.min.css", "admin.css", "admin.js"])
async def test_static_files_are_compressed_and_kept_by_what_is_in_them(office: Office, path: str) -> None:
    person = office.stranger()
    found = file(path)
    assert found is not None
    answer = await person.get(f"/static/{path}?{found.version}")
    assert answer.headers["content-encoding"] == "gzip"
    assert "immutable" in answer.headers["cache-control"]
    assert answer.content == (FOLDER / path).read_bytes()


@pytest.mark.parametrize("path", ["../app.py", "%2e%2e/app.py", "..%2fapp.py", "/etc/passwd", "vendor"])
async def test_nothing_but_static_files_is_served_as_one(office: Office, path: str) -> None:
    assert (await office.stranger().get(f"/static/{path}")).status_code == 404


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "203.0.113.9", "198.51.100.1"),
        (1, "203.0.113.9, 192.0.2.7", "192.0.2.7"),
        (2, "203.0.113.9, 192.0.2.7", "203.0.113.9"),
        (2, "192.0.2.7", "198.51.100.1"),
        (1, "", "198.51.100.1"),
    ],
)
def test_a_header_says_where_a_visitor_is_only_behind_our_own_proxies(
    core: Core, settings: Settings, proxies: int, forwarded: str, address: str
) -> None:
    headers = [(b"x-forwarded-for", forwarded.encode())] if forwarded else []
    request = Request({"type": "http", "headers": headers, "client": ("198.51.100.1", 40000)})
    behind = settings.model_copy(update={"admin_proxies": proxies})
    assert Visit(request, core, behind, "req_1", None, "").address == address
