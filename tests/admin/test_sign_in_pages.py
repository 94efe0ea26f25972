"""The pages by which people come in, and those of their own account, as a browser sees them."""

import re
from dataclasses import replace

import pyotp
import pytest

from pickupbox.admin.app import make_app
from pickupbox.admin.cookies import SIGN_IN_UNDER_WAY
from pickupbox.admin.pages.account import browser_of
from pickupbox.admin.pages.sign_in import local
from pickupbox.domain.roles import Role
from pickupbox.settings import Settings
from pickupbox.usecases import links, sign_in
from pickupbox.usecases.core import Core
from pickupbox.usecases.sessions import begin, who
from tests.admin.office import Office, Person, client_of
from tests.admin.people import PASSWORD, Someone, link_in_mail, someone, stranger
from tests.support.shop import Shop

NEW_PASSWORD = "quite another long password"
SESSION = "__Host-session"


@pytest.fixture
async def ada(core: Core, shop: Shop) -> Someone:
    return await someone(core, shop.tenant)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in, "REFUSAL_SECONDS", 0)


async def signed_in(person: Person, email: str, password: str = PASSWORD, then: str = "/") -> str:
    """Sign in as somebody would; where it leads."""
    page = await person.post("/sign-in", {"email": email, "then": then})
    assert page.status_code == 200
    assert 'action="/sign-in/password"' in page.text
    answer = await person.post("/sign-in/password", {"email": email, "password": password, "then": then})
    return answer.headers.get("location", f"{answer.status_code}")


async def is_in(core: Core, person: Person) -> bool:
    return await who(core, person.cookies.get(SESSION, "")) is not None


async def test_somebody_signs_in_and_out_again(office: Office, core: Core, ada: Someone) -> None:
    browser = office.stranger()
    assert (await browser.get("/sign-in")).status_code == 200
    assert await signed_in(browser, f" {ada.email.upper()} ", then="/account?x=1") == "/account?x=1"
    assert await is_in(core, browser)
    assert ada.email in (await browser.get("/account")).text
    assert (await browser.get("/sign-in")).headers["location"] == "/"
    token = browser.cookies[SESSION]
    visitor = await who(core, token)
    assert visitor is not None
    out = await browser.post("/sign-out", {"csrf": core.vault.page_token(visitor.session)})
    assert out.headers["location"] == "/sign-in"
    assert browser.cookies[SESSION] == ""
    assert await who(core, token) is None


async def test_the_session_is_a_host_cookie_that_no_script_reads(office: Office, ada: Someone) -> None:
    browser = office.stranger()
    answer = await browser.post("/sign-in/password", {"email": ada.email, "password": PASSWORD})
    (cookie,) = [line for line in answer.headers.get_list("set-cookie") if line.startswith(SESSION)]
    assert {part.strip().lower() for part in cookie.split(";")[1:]} == {"httponly", "path=/", "samesite=lax", "secure"}


async def test_a_wrong_password_and_an_unknown_email_see_the_same_page(
    office: Office, ada: Someone, quick: None
) -> None:
    pages = []
    for email in (ada.email, "nobody.at.all@firm.test"):
        answer = await office.stranger().post("/sign-in/password", {"email": email, "password": "wrong"})
        pages.append((answer.status_code, answer.text.replace(email, "").replace(email.replace("@", "%40"), "")))
    assert pages[0] == pages[1]
    assert pages[0][0] == 422


async def test_who_guesses_is_told_to_wait(office: Office, ada: Someone, quick: None) -> None:
    browser = office.stranger()
    codes = [
        (await browser.post("/sign-in/password", {"email": ada.email, "password": "wrong"})).status_code
        for _ in range(6)
    ]
    assert codes == [422] * 5 + [429]
    answer = await browser.post("/sign-in/password", {"email": ada.email, "password": PASSWORD})
    assert 1 <= int(answer.headers["retry-after"]) <= 6


async def test_a_form_of_another_site_signs_nobody_in(office: Office, core: Core, ada: Someone) -> None:
    browser = office.stranger()
    values = {"email": ada.email, "password": PASSWORD}
    answer = await browser.post("/sign-in/password", values, Origin="https://elsewhere.test")
    assert answer.status_code == 403
    assert not await is_in(core, browser)


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/boxes?page=2", "/boxes?page=2"),
        ("//elsewhere.test", "/"),
        ("/\\elsewhere.test", "/"),
        ("https://elsewhere.test", "/"),
        ("javascript:alert(1)", "/"),
        ("/a\r\nSet-Cookie: x=y", "/"),
        ("", "/"),
    ],
)
def test_nobody_is_led_away_from_this_site(path: str, kept: str) -> None:
    assert local(path) == kept


async def test_a_second_factor_is_set_up_and_then_asked_for(office: Office, core: Core, ada: Someone) -> None:
    browser = Person(client_of(office.app), core, ada.id, await begin(core, ada.id, None, None))
    office.people.append(browser)
    page = (await browser.get("/account/second-factor")).text
    secret = re.search(r"<code>([A-Z2-7]{32})</code>", page)
    assert secret is not None
    drawn = await browser.get("/account/second-factor/qr.svg")
    assert drawn.headers["content-type"] == "image/svg+xml"
    assert drawn.headers["cache-control"] == "no-store"
    assert (await browser.post("/account/second-factor", {"code": "000000"})).status_code == 422
    app = pyotp.TOTP(secret[1])
    shown = await browser.post("/account/second-factor", {"code": app.now()})
    codes = re.findall(r"<code>([a-z2-9]{5}-[a-z2-9]{5})</code>", shown.text)
    assert len(codes) == 10
    assert (await browser.get("/account/second-factor/qr.svg")).status_code == 404
    assert secret[1] not in (await browser.get("/account/second-factor")).text

    other = office.stranger()
    assert await signed_in(other, ada.email, then="/account") == "/second-factor"
    assert not await is_in(core, other)
    assert (await other.post("/second-factor", {"code": "000000"})).status_code == 422
    answer = await other.post("/second-factor", {"code": codes[0]})
    assert answer.headers["location"] == "/account"
    assert await is_in(core, other)


async def test_the_second_factor_of_nobody_leads_back_to_the_sign_in(office: Office) -> None:
    browser = office.stranger()
    assert (await browser.get("/second-factor")).headers["location"] == "/sign-in"
    browser.cookies[SIGN_IN_UNDER_WAY] = "made-up"
    assert (await browser.post("/second-factor", {"code": "123456"})).headers["location"] == "/sign-in"


async def test_a_forgotten_password_is_set_anew_by_the_link_of_the_mail(
    office: Office, core: Core, ada: Someone, quick: None
) -> None:
    browser = office.stranger()
    known = await browser.post("/forgot", {"email": ada.email})
    unknown = await browser.post("/forgot", {"email": "nobody.knows@firm.test"})
    assert known.text.replace(ada.email, "") == unknown.text.replace("nobody.knows@firm.test", "")
    path = f"/link/{await link_in_mail(core, ada.email)}"
    # Mail scanners look at links; that uses them up as little as a password that is too short.
    assert ada.email in (await browser.get(path)).text
    assert (await browser.post(path, {"password": "short"})).status_code == 422
    assert (await browser.post(path, {"password": NEW_PASSWORD})).headers["location"] == "/"
    assert await is_in(core, browser)
    gone = await office.stranger().get(path)
    assert gone.status_code == 404
    assert "used already" in gone.text


async def test_a_reset_does_not_get_round_the_second_factor(office: Office, core: Core, ada: Someone) -> None:
    await ada.second_factor()
    await links.ask_for_reset(core, ada.email, stranger().address)
    browser = office.stranger()
    answer = await browser.post(f"/link/{await link_in_mail(core, ada.email)}", {"password": NEW_PASSWORD})
    assert answer.headers["location"] == "/second-factor"
    assert not await is_in(core, browser)


async def test_a_guarded_page_asks_again_and_goes_on_afterwards(office: Office, quick: None) -> None:
    person = await office.sign_in(Role.OPERATOR)
    await person.get("/account/second-factor")
    led = await person.post("/account/second-factor/codes", Referer="http://admin.test/account")
    assert led.headers["location"] == "/confirm?then=/account"
    assert (await person.get("/confirm?then=/account")).status_code == 200
    assert (await person.post("/confirm", {"password": "wrong", "then": "/account"})).status_code == 422
    away = await person.post("/confirm", {"password": PASSWORD, "then": "//elsewhere.test"})
    assert away.headers["location"] == "/"
    visitor = await who(person.core, person.token)
    assert visitor is not None
    assert visitor.stepped_up


async def test_ones_sessions_are_listed_and_ended(office: Office, core: Core) -> None:
    person = await office.sign_in(Role.VIEWER)
    other = await begin(core, person.id, "192.0.2.7", "Mozilla/5.0 (Windows NT 10.0) Gecko/20100101 Firefox/140.0")
    page = (await person.get("/account")).text
    assert "Firefox, Windows" in page
    (session_id,) = re.findall(r"/account/sessions/(ses_\w+)/end", page)
    assert (await person.post(f"/account/sessions/{session_id}/end")).status_code == 303
    assert await who(core, other) is None
    foreign = await office.sign_in(Role.VIEWER)
    assert (await foreign.post(f"/account/sessions/{session_id}/end")).status_code == 404


async def test_name_language_and_password_are_changed(office: Office, core: Core, quick: None) -> None:
    person = await office.sign_in(Role.VIEWER)
    await person.post("/account/profile", {"name": "Ada  Lovelace", "locale": "de"})
    page = (await person.get("/account")).text
    assert "Ada Lovelace" in page
    assert "Ihr Konto" in page
    assert (await person.post("/account/profile", {"name": " "})).status_code == 422
    wrong = await person.post("/account/password", {"before": "wrong", "password": NEW_PASSWORD})
    assert wrong.status_code == 422
    assert (await person.post("/account/password", {"before": PASSWORD, "password": NEW_PASSWORD})).status_code == 303


def test_a_browser_is_named_as_people_know_it() -> None:
    iphone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 Version/18 Mobile Safari/604"
    edge = "Mozilla/5.0 (Windows NT 10.0; Win64) AppleWebKit/537 Chrome/140.0 Safari/537 Edg/140.0"
    assert [browser_of(agent) for agent in (iphone, edge, "curl/8")] == ["Safari, iPhone", "Edge, Windows", "A browser"]


@pytest.mark.parametrize(("role", "led"), [(Role.OWNER, True), (Role.ADMINISTRATOR, True), (Role.OPERATOR, False)])
async def test_in_production_the_office_needs_a_second_factor(
    core: Core, shop: Shop, settings: Settings, role: Role, *, led: bool
) -> None:
    production = replace(core, environment="production")
    ada = await someone(core, shop.tenant, role)
    browser = Person(
        client_of(make_app(production, settings)), production, ada.id, await begin(core, ada.id, None, None)
    )
    answer = await browser.get("/boxes")
    assert (answer.headers.get("location") == "/account/second-factor") == led
    assert (await browser.get("/account/second-factor")).status_code == 200
    await ada.second_factor()
    assert (await browser.get("/boxes")).status_code == 200
    await browser.http.aclose()
