"""Is the process alive, and is it ready? Alive never asks the database."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.usecases.core import Core
from pickupbox.usecases.readiness import not_ready


async def livez(_: Request) -> Response:
    return JSONResponse({"alive": True})


def readyz(core: Core) -> Callable[[Request], Awaitable[Response]]:
    async def answer(_: Request) -> Response:
        try:
            reason = await not_ready(core)
        except TemporarilyUnavailable:
            reason = "PostgreSQL does not answer"
        return JSONResponse({"ready": reason is None, "reason": reason}, 200 if reason is None else 503)

    return answer
