"""Is an HTTP process alive, and is it ready? Alive never asks the database."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.usecases.readiness import not_ready


async def livez(_: Request) -> Response:
    return JSONResponse({"alive": True})


async def readyz(request: Request) -> Response:
    """Ready if the database answers, is migrated, and is the one this process was made for."""
    try:
        reason = await not_ready(request.scope["pickupbox.core"])
    except TemporarilyUnavailable:
        reason = "PostgreSQL does not answer"
    return JSONResponse({"ready": reason is None, "reason": reason}, 200 if reason is None else 503)
