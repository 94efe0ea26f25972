"""The API as one ASGI application, put together from the settings."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from pickupbox import health
from pickupbox.api import devices, endpoints
from pickupbox.api.authentication import Keys
from pickupbox.api.entrance import BASE, Entrance
from pickupbox.api.openapi import openapi
from pickupbox.api.rate_limit import limiter
from pickupbox.api.reference import FILES, docs, docs_file
from pickupbox.api.request_log import RequestLog
from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.settings import Settings
from pickupbox.telemetry import log, start_logs
from pickupbox.usecases.core import Core, open_core


class Endpoint:
    """An endpoint as Starlette calls it, without its handling of exceptions: the entrance answers those."""

    def __init__(self, endpoint: Callable[[Request], Awaitable[Response]]) -> None:
        self._endpoint = endpoint
        self.__name__ = endpoint.__name__

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._endpoint(Request(scope, receive, send))
        await response(scope, receive, send)


def _route(method: str, path: str, endpoint: Callable[[Request], Awaitable[Response]]) -> Route:
    route = Route(path, Endpoint(endpoint), methods=[method])
    # Starlette's pattern ends in `$`, which also holds before a newline: such a path would pass the PINs' own limit.
    route.path_regex = re.compile(route.path_regex.pattern.removesuffix("$") + r"\Z")
    return route


def routes(environment: str) -> list[Route]:
    """What is served; only a sandbox has the simulated events."""
    served = [  # the most frequent first: they are tried in this order
        _route("GET", f"{BASE}/shipments/{{shipment_id}}", endpoints.get_shipment),
        _route("POST", f"{BASE}/shipments", endpoints.create_shipment),
        _route("GET", f"{BASE}/boxes", endpoints.list_boxes),
        _route("GET", f"{BASE}/shipments/{{shipment_id}}/pickup-pin", endpoints.get_pickup_pin),
        _route("POST", f"{BASE}/shipments/{{shipment_id}}/cancel", endpoints.cancel_shipment),
        _route("POST", f"{BASE}/shipments/{{shipment_id}}/retry", endpoints.retry_shipment),
        _route("GET", f"{BASE}/events", endpoints.list_events),
        _route("GET", f"{BASE}/shipments", endpoints.find_shipments),
        _route("GET", f"{BASE}/openapi.json", openapi(environment)),
        _route("GET", f"{BASE}/docs", docs(environment)),
        *(_route("GET", f"{BASE}/docs/{name}", docs_file(name)) for name in FILES),
        _route("POST", devices.PATH, devices.exchange_code),
        _route("GET", "/livez", health.livez),
        _route("GET", "/readyz", health.readyz),
    ]
    if environment == "sandbox":
        path = f"{BASE}/sandbox/shipments/{{shipment_id}}/events"
        served.append(_route("POST", path, endpoints.simulate_event))
    return served


def _methods_at(scope: Scope, served: Sequence[Route]) -> list[str]:
    here = [route for route in served if route.matches(scope)[0] is not Match.NONE]
    return sorted({method for route in here for method in route.methods or ()})


def make_app(core: Core, rate_limit_url: str) -> Entrance:
    keys = Keys(core)
    buckets = limiter(rate_limit_url)
    request_log = RequestLog(core)

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        writing = [asyncio.create_task(one) for one in (keys.write_use_forever(), request_log.write_forever())]
        log.info("api_started", environment=core.environment, cell=core.cell)
        yield
        for task in writing:
            task.cancel()
        with suppress(TemporarilyUnavailable):
            await keys.write_use()
        await request_log.write()
        await buckets.close()
        await core.db.close()

    served = routes(core.environment)
    router = Router(served, redirect_slashes=False, lifespan=lifespan)

    async def routed(scope: Scope, receive: Receive, send: Send) -> None:
        scope["app"] = router  # so that an unknown path or method is raised, and answered at the entrance
        try:
            await router(scope, receive, send)
        except HTTPException as error:
            if error.status_code == 405:
                # Starlette names the methods of one route; a path may have several.
                error.headers = {"allow": ", ".join(_methods_at(scope, served))}
            raise

    return Entrance(routed, core, keys, buckets, request_log)


def create() -> ASGIApp:
    """What the server loads in each of its processes."""
    settings = Settings.model_validate({})
    start_logs(settings.log_level)
    return make_app(open_core(settings), settings.rate_limit_url)
