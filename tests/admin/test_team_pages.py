"""The pages of the team and of the firm's own sign-in."""

import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr

from pickupbox.admin.app import make_app
from pickupbox.domain.roles import Role
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from pickupbox.usecases.sessions import begin, step_up, who
from tests.admin.office import Office, Person, client_of
from tests.admin.people import PASSWORD, link_in_mail, run, someone
from tests.admin.provider import CLIENT_ID, CLIENT_SECRET, Provider, running
from tests.support.shop import Shop


def fresh(core: Core) -> str:
    return f"{core.new_id('new')}@firm.test"


async def test_somebody_is_invited_comes_in_and_is_listed(office: Office, core: Core) -> None:
    owner, email = await office.sign_in(Role.OWNER), fresh(core)
    shown = await owner.post("/team/invite", {"email": email, "name": "Wim", "role": "operator"})
    link = re.search(r"<code>[^<]*(/link/[\w-]+)</code>", shown.text)
    assert link is not None  # there is no mail server in this test
    browser = office.stranger()
    page = await browser.get(link[1])
    assert "Welcome to Test shop" in page.text
    answer = await browser.post(link[1], {"name": "Wim Wenders", "password": PASSWORD})
    assert answer.headers["location"] == "/"
    assert "Wim Wenders" in (await browser.get("/account")).text
    team = (await owner.get("/team")).text
    assert email in team
    assert "Wim Wenders" in team


async def test_with_a_mail_server_only_the_mail_has_the_link(core: Core, settings: Settings, shop: Shop) -> None:
    mailing = settings.model_copy(update={"smtp_url": SecretStr("smtp://127.0.0.1:25")})
    ada = await someone(core, shop.tenant)
    browser = Person(client_of(make_app(core, mailing)), core, ada.id, await begin(core, ada.id, None, None))
    email = fresh(core)
    answer = await browser.post("/team/invite", {"email": email, "role": "viewer"})
    assert answer.headers["location"] == "/team"
    assert await link_in_mail(core, email) not in (await browser.get("/team")).text
    await browser.http.aclose()


async def test_an_administrator_is_offered_no_owner_and_gets_none_by_hand(office: Office, core: Core) -> None:
    administrator = await office.sign_in(Role.ADMINISTRATOR)
    assert 'value="owner"' not in (await administrator.get("/team/invite")).text
    refused = await administrator.post("/team/invite", {"email": fresh(core), "role": "owner"})
    assert refused.status_code == 422
    assert "Only an owner" in refused.text


async def test_a_role_is_changed_and_a_person_removed_by_typing(office: Office, core: Core, shop: Shop) -> None:
    owner, wim = await office.sign_in(Role.OWNER), await someone(core, shop.tenant, Role.VIEWER)
    session = await begin(core, wim.id, None, None)
    assert (await owner.post(f"/team/{wim.id}/role", {"role": "operator"})).status_code == 303
    assert (await wim.row()).role is Role.OPERATOR
    wrong = await owner.post(f"/team/{wim.id}/remove", {"typed": "somebody else"})
    assert wrong.status_code == 422
    assert await who(core, session) is not None
    assert (await owner.post(f"/team/{wim.id}/remove", {"typed": wim.email})).headers["location"] == "/team"
    assert await who(core, session) is None
    assert (await owner.get(f"/team/{wim.id}")).status_code == 404


async def test_a_role_that_does_not_exist_gives_the_least(office: Office, core: Core) -> None:
    owner, email = await office.sign_in(Role.OWNER), fresh(core)
    await owner.post("/team/invite", {"email": email, "role": "emperor"})
    assert await run(core, "SELECT role FROM users WHERE email = $1", email) == [("viewer",)]


async def test_the_last_owner_is_told_why_not(office: Office, core: Core) -> None:
    owner = await office.sign_in(Role.OWNER)
    refused = await owner.post(f"/team/{owner.id}/role", {"role": "viewer"})
    assert refused.status_code == 422
    assert "always has an owner" in refused.text


async def test_another_tenants_people_are_not_found(office: Office, core: Core, other_shop: Shop) -> None:
    owner, foreigner = await office.sign_in(Role.OWNER), await someone(core, other_shop.tenant)
    assert (await owner.get(f"/team/{foreigner.id}")).status_code == 404
    for act in ("role", "remove", "invite-again"):
        answer = await owner.post(f"/team/{foreigner.id}/{act}", {"role": "viewer", "typed": foreigner.email})
        assert answer.status_code == 404
    await owner.step_up()
    assert (await owner.post(f"/team/{foreigner.id}/second-factor")).status_code == 404


async def test_a_name_is_shown_as_text_whatever_is_in_it(office: Office, core: Core) -> None:
    owner = await office.sign_in(Role.OWNER)
    await owner.post("/account/profile", {"name": "<script>alert(1)</script>"})
    for path in ("/team", "/account", f"/team/{owner.id}"):
        page = (await owner.get(path)).text
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with running() as started:
        yield started


async def test_an_owner_sets_the_firms_provider_and_people_come_in_by_it(
    core: Core, settings: Settings, shop: Shop, provider: Provider
) -> None:
    opened = replace(core, webhook_loopback=True)
    app = make_app(opened, settings)
    domain = f"{core.new_id('d').rpartition('_')[2][:16]}.test"
    ada = await someone(core, shop.tenant, Role.OWNER, f"ada@{domain}")
    token = await begin(core, ada.id, None, None)
    owner = Person(client_of(app), opened, ada.id, token)
    values = {"issuer": provider.issuer, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "only_way": "on"}
    guarded = await owner.post("/team/identity", values)
    assert guarded.headers["location"].startswith("/confirm")
    visitor = await who(core, token)
    assert visitor is not None
    await step_up(core, visitor)
    away = await owner.post("/team/identity", values | {"issuer": "http://elsewhere.test"})
    assert away.status_code == 422
    assert (await owner.post("/team/identity", values)).headers["location"] == "/team/identity"
    assert CLIENT_SECRET not in (await owner.get("/team/identity")).text

    browser = Person(client_of(app), opened, "", "")
    leaving = await browser.post("/sign-in", {"email": ada.email, "then": "/account"})
    assert leaving.status_code == 200
    url = leaving.headers["refresh"].removeprefix("0; url=")
    assert url.startswith(provider.issuer)
    assert urlsplit(url).netloc in leaving.text
    provider.knows("ada", email=ada.email, email_verified=True)
    brought = provider.sign_in(url, "ada")
    back = await browser.get(f"/sign-in/return?state={brought['state']}&code={brought['code']}")
    assert back.headers["location"] == "/account"
    inside = await who(core, browser.cookies["__Host-session"])
    assert inside is not None
    assert (inside.id, inside.way) == (ada.id, "provider")
    # Again with the same answer: it is over.
    again = await browser.get(f"/sign-in/return?state={brought['state']}&code={brought['code']}")
    assert again.status_code == 409
    for one in (owner, browser):
        await one.http.aclose()
