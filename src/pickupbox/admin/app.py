"""The administration as one ASGI app: every page that its modules declare, static files, and what is live."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from starlette.requests import Request
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from pickupbox import health
from pickupbox.admin import live, static
from pickupbox.admin.admission import admit
from pickupbox.admin.entrance import Entrance
from pickupbox.admin.live import Hub
from pickupbox.admin.pages import PAGES
from pickupbox.admin.routes import Page
from pickupbox.settings import Settings
from pickupbox.telemetry import log, start_logs
from pickupbox.usecases.core import Core, open_core


class Admitted:
    """A page as Starlette calls it: only for whoever may see it."""

    def __init__(self, page: Page, core: Core, settings: Settings) -> None:
        self._page = page
        self._core = core
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["pickupbox.page"] = f"{self._page.method} {self._page.path}"
        request = Request(scope, receive, send)
        response = await admit(self._page, request, self._core, self._settings, scope["pickupbox.request_id"])
        await response(scope, receive, send)


def routes(pages: Sequence[Page], core: Core, settings: Settings) -> list[Route]:
    served = [page for page in pages if core.environment == "sandbox" or not page.path.startswith("/lab")]
    return [Route(page.path, Admitted(page, core, settings), methods=[page.method]) for page in served]


def make_app(core: Core, settings: Settings) -> ASGIApp:
    hub = Hub(core)

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        listening = asyncio.create_task(hub.run())
        log.info("admin_started", environment=core.environment, cell=core.cell)
        if core.environment == "production" and core.admin_url.startswith("https://") and not settings.admin_proxies:
            log.warning("no_proxies_named", cure="set PICKUPBOX_ADMIN_PROXIES to the number of proxies before us")
        yield
        listening.cancel()
        with suppress(asyncio.CancelledError):
            await listening
        await core.db.close()

    served = [
        *routes([*PAGES, live.page(hub)], core, settings),
        Route("/static/{path:path}", static.serve, methods=["GET"]),
        Route("/livez", health.livez, methods=["GET"]),
        Route("/readyz", health.readyz, methods=["GET"]),
    ]
    router = Router(served, redirect_slashes=False, lifespan=lifespan)

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = router  # so that an unknown path or method is raised, and answered at the entrance
        await router(scope, receive, send)

    return Entrance(routed, core)


def create() -> ASGIApp:
    """What the server loads in each of its processes."""
    settings = Settings.model_validate({})
    start_logs(settings.log_level)
    return make_app(open_core(settings), settings)
