"""Who may see a page: deny by default. The session is looked up, the form is proven to be ours, the role is asked."""

from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from pickupbox.admin import words
from pickupbox.admin.routes import Page
from pickupbox.admin.visit import Visit
from pickupbox.domain.errors import FormNotOurs, NotAllowed
from pickupbox.domain.people import NEEDS_SECOND_FACTOR
from pickupbox.domain.roles import Act
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from pickupbox.usecases.sessions import Visitor, who

SESSION = "__Host-session"
SIGN_IN = "/sign-in"
CONFIRM = "/confirm"
SECOND_FACTOR = "/account/second-factor"


async def admit(page: Page, request: Request, core: Core, settings: Settings, request_id: str) -> Response:
    """Call the page for whoever may see it; send everybody else where they belong."""
    token = request.cookies.get(SESSION, "")
    visitor = await who(core, token, in_use=not page.by_itself) if token else None
    words.speak((visitor and visitor.locale) or words.preferred(request.headers.get("accept-language", "")))
    csrf = core.vault.page_token(visitor.session) if visitor else ""
    visit = Visit(request, core, settings, request_id, visitor, csrf)
    request.state.visit = visit
    if page.method == "POST":
        await _prove_ours(visit)
    if page.act is None:
        return await page.handler(visit)
    if visitor is None:
        return _elsewhere(request, f"{SIGN_IN}?then={quote(_here(request))}")
    if not visit.may(page.act):
        raise NotAllowed
    if page.act is not Act.OWN_ACCOUNT and _needs_second_factor(core, visitor):
        return _elsewhere(request, SECOND_FACTOR)
    if page.step_up and not visitor.stepped_up:
        return _elsewhere(request, f"{CONFIRM}?then={quote(_here(request))}")
    response = await page.handler(visit)
    response.headers.setdefault("cache-control", "no-store")
    return response


def _needs_second_factor(core: Core, visitor: Visitor) -> bool:
    needed = core.environment == "production" and visitor.role in NEEDS_SECOND_FACTOR
    return needed and not visitor.second_factor


async def _prove_ours(visit: Visit) -> None:
    """The browser says that the form comes from our own pages, and the form carries what only those know."""
    request = visit.request
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    if origin is None:
        ours = site == "same-origin"
    else:
        ours = urlsplit(origin).netloc == request.headers.get("host", "") and site in (None, "same-origin")
    if not ours:
        raise FormNotOurs
    if visit.visitor is not None:
        sent = (await visit.form()).get("csrf", "") or request.headers.get("x-csrf", "")
        if not visit.core.vault.is_page_token(visit.visitor.session, sent):
            raise FormNotOurs


def _here(request: Request) -> str:
    """Where to come back to: this page, or, for a form, the page that it was on."""
    if request.method != "POST":
        return request.url.path + (f"?{request.url.query}" if request.url.query else "")
    from_page = urlsplit(request.headers.get("referer", ""))
    return from_page.path if from_page.path.startswith("/") else "/"


def _elsewhere(request: Request, path: str) -> Response:
    if "hx-request" in request.headers:
        return Response(status_code=204, headers={"hx-redirect": path})
    return RedirectResponse(path, 303)
