"""One's own account: name and language, password, second factor, sessions; and the step-up."""

import io
from typing import Any

import segno
from starlette.responses import Response

from pickupbox.admin.pages.sign_in import local, on_the_way, refused
from pickupbox.admin.routes import get, post
from pickupbox.admin.visit import Visit
from pickupbox.admin.words import LANGUAGES, _
from pickupbox.database import users
from pickupbox.domain.errors import NotFound, Refusal
from pickupbox.domain.roles import Act
from pickupbox.usecases import account, second_factor, sessions, sign_in, team
from pickupbox.usecases.single_sign_on import provider_for, send_again

ACCOUNT = Act.OWN_ACCOUNT
# The first that fits: every browser says that it is some of those below it.
BROWSERS = (("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS", "macOS"),
    ("Linux", "Linux"),
)


async def show(visit: Visit) -> Response:
    return visit.page("account/show.html", problem="", **await _shown(visit))


async def _shown(visit: Visit) -> dict[str, Any]:
    user = await _me(visit)
    factor = second_factor.factor_of(visit.core, user) if second_factor.is_on(user) else None
    mine = await sessions.list_mine(visit.core, visit.tenant, visit.person.id)
    return {
        "user": user,
        "codes_left": len(factor.codes) if factor else 0,
        "sessions": [(one, browser_of(one.agent or "")) for one in mine],
        "languages": [("", _("As the browser says")), *LANGUAGES.items()],
    }


def browser_of(agent: str) -> str:
    """A browser and a system, as far as people would recognize them."""
    browser = next((name for mark, name in BROWSERS if mark in agent), _("A browser"))
    system = next((name for mark, name in SYSTEMS if mark in agent), "")
    return f"{browser}, {system}" if system else browser


async def _me(visit: Visit) -> users.User:
    return await team.find_person(visit.core, visit.tenant, visit.person.id)


async def change_profile(visit: Visit) -> Response:
    form = await visit.form()
    try:
        await account.change_name(visit.core, visit.caller, form.get("name", ""), form.get("locale") or None)
    except Refusal as refusal:
        return refused(visit, "account/show.html", refusal, **await _shown(visit))
    return visit.go("/account", notice=_("Saved."))


async def change_password(visit: Visit) -> Response:
    form = await visit.form()
    before, after = form.get("before", ""), form.get("password", "")
    try:
        await account.change_password(visit.core, visit.caller, visit.person, before, after)
    except Refusal as refusal:
        return refused(visit, "account/show.html", refusal, **await _shown(visit))
    return visit.go("/account", notice=_("Your password is changed; your other sessions have ended."))


async def end_session(visit: Visit) -> Response:
    await sessions.end_one(visit.core, visit.caller, visit.path("session_id"))
    return visit.go("/account", notice=_("The session has ended."))


async def end_others(visit: Visit) -> Response:
    await sessions.end_others(visit.core, visit.caller, visit.person)
    return visit.go("/account", notice=_("Your other sessions have ended."))


async def show_second_factor(visit: Visit) -> Response:
    user = await _me(visit)
    if second_factor.is_on(user):
        factor = second_factor.factor_of(visit.core, user)
        return visit.page("account/second_factor.html", user=user, codes_left=len(factor.codes) if factor else 0)
    factor = await second_factor.prepare(visit.core, visit.caller)
    return visit.page("account/enroll.html", secret=factor.secret, problem="")


async def draw_second_factor(visit: Visit) -> Response:
    """The secret as a QR code; only until it is confirmed."""
    user = await _me(visit)
    factor = second_factor.factor_of(visit.core, user)
    if factor is None or second_factor.is_on(user):
        raise NotFound
    drawn = io.BytesIO()
    segno.make(factor.uri(user.email), error="m").save(drawn, kind="svg", scale=5, border=3, light="#fff")
    return Response(drawn.getvalue(), media_type="image/svg+xml", headers={"cache-control": "no-store"})


async def confirm_second_factor(visit: Visit) -> Response:
    try:
        codes = await second_factor.confirm(visit.core, visit.caller, (await visit.form()).get("code", ""))
    except Refusal as refusal:
        factor = await second_factor.prepare(visit.core, visit.caller)
        return refused(visit, "account/enroll.html", refusal, secret=factor.secret)
    return visit.page("account/codes.html", codes=codes)


async def renew_codes(visit: Visit) -> Response:
    return visit.page("account/codes.html", codes=await second_factor.renew_codes(visit.core, visit.caller))


async def remove_second_factor(visit: Visit) -> Response:
    await second_factor.take_off(visit.core, visit.caller, visit.person.role, visit.person.id)
    return visit.go("/account", notice=_("The second factor is removed."))


async def ask_again(visit: Visit) -> Response:
    return visit.page("account/confirm.html", problem="", **await _asked(visit, local(visit.query("then", "/"))))


async def _asked(visit: Visit, then: str) -> dict[str, Any]:
    """By what this person can prove that it is still them."""
    user = await _me(visit)
    provider = await provider_for(visit.core, user.email) if visit.person.way == "provider" else None
    return {
        "then": then,
        "by_password": user.password_hash is not None,
        "by_code": second_factor.is_on(user),
        "by_provider": provider is not None,
    }


async def take_again(visit: Visit) -> Response:
    form = await visit.form()
    then = local(form.get("then", "/"))
    try:
        await sign_in.confirm(visit.core, visit.person, form.get("password", ""), form.get("code", ""), visit.address)
    except Refusal as refusal:
        return refused(visit, "account/confirm.html", refusal, **await _asked(visit, then))
    return visit.go(then)


async def ask_provider_again(visit: Visit) -> Response:
    then = local((await visit.form()).get("then", "/"))
    try:
        sent = await send_again(visit.core, visit.person, then)
    except Refusal as refusal:
        return refused(visit, "account/confirm.html", refusal, **await _asked(visit, then))
    return on_the_way(visit, sent.url, sent.token)


PAGES = [
    get("/account", ACCOUNT, show),
    post("/account/profile", ACCOUNT, change_profile),
    post("/account/password", ACCOUNT, change_password),
    post("/account/sessions/end-others", ACCOUNT, end_others),
    post("/account/sessions/{session_id}/end", ACCOUNT, end_session),
    get("/account/second-factor", ACCOUNT, show_second_factor),
    get("/account/second-factor/qr.svg", ACCOUNT, draw_second_factor),
    post("/account/second-factor", ACCOUNT, confirm_second_factor),
    post("/account/second-factor/codes", ACCOUNT, renew_codes, step_up=True),
    post("/account/second-factor/remove", ACCOUNT, remove_second_factor, step_up=True),
    get("/confirm", ACCOUNT, ask_again),
    post("/confirm", ACCOUNT, take_again),
    post("/confirm/provider", ACCOUNT, ask_provider_again),
]
