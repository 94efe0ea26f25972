"""Coming in: e-mail, then a password or the firm's own provider; the second factor; links of mails; and out again."""

import re

from starlette.responses import Response

from pickupbox.admin import cookies
from pickupbox.admin.admission import SESSION
from pickupbox.admin.routes import get, post
from pickupbox.admin.visit import Visit
from pickupbox.admin.words import _
from pickupbox.domain.errors import Refusal
from pickupbox.domain.people import (
    LinkNotValid,
    OnlyByProvider,
    ProviderAway,
    SignInOver,
    TooManyAttempts,
    email_of,
)
from pickupbox.domain.roles import Act
from pickupbox.usecases import links, sessions, sign_in
from pickupbox.usecases.links import Purpose
from pickupbox.usecases.sign_in import Entered, Stranger
from pickupbox.usecases.single_sign_on import come_back, provider_for, send_to

LOCAL = re.compile(r"/(?![/\\])[!-\[\]-~]*")


def local(path: str) -> str:
    """Where to go afterwards: a path of ours, never an address that somebody slipped in."""
    return path if LOCAL.fullmatch(path) else "/"


def stranger(visit: Visit) -> Stranger:
    return Stranger(visit.address, visit.request.headers.get("user-agent"))


def refused(visit: Visit, template: str, refusal: Refusal, **values: object) -> Response:
    """The same page again, with what was wrong."""
    status = 429 if isinstance(refusal, TooManyAttempts) else 422
    response = visit.page(template, status, problem=problem_of(refusal), **values)
    if refusal.retry_after is not None:
        response.headers["retry-after"] = str(int(refusal.retry_after) + 1)
    return response


def problem_of(refusal: Refusal) -> str:
    return f"{_(refusal.message())} {_(refusal.cure())}"


async def ask_email(visit: Visit) -> Response:
    then = local(visit.query("then", "/"))
    if visit.visitor is not None:
        return visit.go(then)
    return visit.page("sign_in/email.html", then=then, email="", problem="")


async def take_email(visit: Visit) -> Response:
    """Nobody learns here who is known: what follows depends on the domain alone."""
    form = await visit.form()
    then = local(form.get("then", "/"))
    try:
        email = email_of(form.get("email", ""))
        provider = await provider_for(visit.core, email)
        if provider is not None and provider.only_way:
            return await _to_provider(visit, email, then)
    except Refusal as refusal:
        return refused(visit, "sign_in/email.html", refusal, then=then, email=form.get("email", ""))
    return visit.page("sign_in/password.html", then=then, email=email, provider=provider is not None, problem="")


async def take_password(visit: Visit) -> Response:
    form = await visit.form()
    then = local(form.get("then", "/"))
    try:
        email = email_of(form.get("email", ""))
        entered = await sign_in.by_password(visit.core, email, form.get("password", ""), stranger(visit), then)
    except OnlyByProvider:
        return await choose_provider(visit)
    except Refusal as refusal:
        values = {"then": then, "email": form.get("email", ""), "provider": False}
        return refused(visit, "sign_in/password.html", refusal, **values)
    return _entered(visit, entered, then)


def _entered(visit: Visit, entered: Entered, then: str) -> Response:
    if entered.session is not None:
        return cookies.keep_session(visit.go(then), entered.session)
    return cookies.keep_sign_in(visit.go("/second-factor"), entered.sign_in or "")


async def choose_provider(visit: Visit) -> Response:
    form = await visit.form()
    then = local(form.get("then", "/"))
    try:
        return await _to_provider(visit, email_of(form.get("email", "")), then)
    except Refusal as refusal:
        return refused(visit, "sign_in/email.html", refusal, then=then, email=form.get("email", ""))


async def _to_provider(visit: Visit, email: str, then: str) -> Response:
    provider = await provider_for(visit.core, email)
    if provider is None:
        raise SignInOver
    sent = await send_to(visit.core, provider, email, then, visit.address)
    return on_the_way(visit, sent.url, sent.token)


def on_the_way(visit: Visit, url: str, token: str) -> Response:
    """A page that moves on by itself: our policy lets no form lead out of this site, and so no redirect of one."""
    response = visit.page("sign_in/leaving.html", url=url, host=url.split("/")[2])
    response.headers["refresh"] = f"0; url={url}"
    return cookies.keep_sign_in(response, token)


async def return_from_provider(visit: Visit) -> Response:
    token = visit.request.cookies.get(cookies.SIGN_IN_UNDER_WAY, "")
    state, code, issuer = visit.query("state"), visit.query("code"), visit.query("iss") or None
    try:
        returned = await come_back(visit.core, token, state, code, issuer, stranger(visit))
    except ProviderAway as away:
        return refused(visit, "sign_in/email.html", away, then="/", email="")
    response = visit.go(local(returned.next))
    if returned.session is None:
        return cookies.drop(response, cookies.SIGN_IN_UNDER_WAY)
    return cookies.keep_session(response, returned.session)


async def ask_code(visit: Visit) -> Response:
    if cookies.SIGN_IN_UNDER_WAY not in visit.request.cookies:
        return visit.go("/sign-in")
    return visit.page("sign_in/second_factor.html", problem="")


async def take_code(visit: Visit) -> Response:
    token = visit.request.cookies.get(cookies.SIGN_IN_UNDER_WAY, "")
    code = (await visit.form()).get("code", "")
    try:
        session, then = await sign_in.by_code(visit.core, token, code, stranger(visit))
    except SignInOver as over:
        return cookies.drop(visit.go("/sign-in", notice=problem_of(over)), cookies.SIGN_IN_UNDER_WAY)
    except Refusal as refusal:
        return refused(visit, "sign_in/second_factor.html", refusal)
    return cookies.keep_session(visit.go(local(then)), session)


async def ask_forgotten(visit: Visit) -> Response:
    return visit.page("sign_in/forgot.html", email=visit.query("email"), problem="")


async def take_forgotten(visit: Visit) -> Response:
    typed = (await visit.form()).get("email", "")
    try:
        email = email_of(typed)
        await links.ask_for_reset(visit.core, email, visit.address)
    except Refusal as refusal:
        return refused(visit, "sign_in/forgot.html", refusal, email=typed)
    return visit.page("sign_in/on_its_way.html", email=email)


async def open_link(visit: Visit) -> Response:
    try:
        opened = await links.look_at(visit.core, visit.path("token"))
    except LinkNotValid as over:
        return visit.page("sign_in/over.html", 404, problem=problem_of(over))
    return visit.page("sign_in/link.html", opened=opened, name=opened.user.name, problem="")


async def use_link(visit: Visit) -> Response:
    form = await visit.form()
    token = visit.path("token")
    try:
        opened = await links.look_at(visit.core, token)
        name = form.get("name", "") if opened.purpose is Purpose.INVITATION else None
        await links.use(visit.core, token, name, form.get("password", ""), visit.address)
    except LinkNotValid as over:
        return visit.page("sign_in/over.html", 404, problem=problem_of(over))
    except Refusal as refusal:
        shown = opened.user.name if name is None else name
        return refused(visit, "sign_in/link.html", refusal, opened=opened, name=shown)
    return _entered(visit, await sign_in.enter(visit.core, opened.user, stranger(visit), "/"), "/")


async def sign_out(visit: Visit) -> Response:
    await sessions.end(visit.core, visit.person)
    return cookies.drop(visit.go("/sign-in", notice=_("You are signed out.")), SESSION)


PAGES = [
    get("/sign-in", None, ask_email),
    post("/sign-in", None, take_email),
    post("/sign-in/password", None, take_password),
    post("/sign-in/provider", None, choose_provider),
    get("/sign-in/return", None, return_from_provider),
    get("/second-factor", None, ask_code),
    post("/second-factor", None, take_code),
    get("/forgot", None, ask_forgotten),
    post("/forgot", None, take_forgotten),
    get("/link/{token}", None, open_link),
    post("/link/{token}", None, use_link),
    post("/sign-out", Act.OWN_ACCOUNT, sign_out),
]
