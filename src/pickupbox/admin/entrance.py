"""The entrance of every visit: its id, the headers that keep a page safe, refusals as pages, log line and metrics."""

import math
import os
import time
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pickupbox.admin.templates import render
from pickupbox.domain.errors import (
    FormNotOurs,
    InternalError,
    MethodNotAllowed,
    NotAllowed,
    NotFound,
    Refusal,
    TemporarilyUnavailable,
)
from pickupbox.domain.people import TooManyAttempts
from pickupbox.telemetry import REFUSALS, REQUESTS, log
from pickupbox.usecases.core import Core

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
STRICT_TRANSPORT = {"strict-transport-security": "max-age=31536000; includeSubDomains"}
STATUS = {
    NotFound: 404,
    NotAllowed: 403,
    FormNotOurs: 403,
    MethodNotAllowed: 405,
    TooManyAttempts: 429,
    TemporarilyUnavailable: 503,
    InternalError: 500,
}


class Entrance:
    def __init__(self, app: ASGIApp, core: Core) -> None:
        self._app = app
        self._core = core
        everywhere = HEADERS | (STRICT_TRANSPORT if core.environment == "production" else {})
        self._headers = [(name.encode(), value.encode()) for name, value in everywhere.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 500
        scope["pickupbox.core"] = self._core
        request_id = scope["pickupbox.request_id"] = f"req_{os.urandom(12).hex()}"

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = {name for name, _ in message["headers"]}
                added = [header for header in self._headers if header[0] not in own]
                message["headers"] = [*message["headers"], *added, (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception as error:  # noqa: BLE001 - every visit is answered, and an unexpected error is logged
            response = _refused(error, Request(scope), request_id)
            await response(scope, receive, send_with_headers)
        finally:
            _note(scope, status, request_id, time.perf_counter() - began)


def _refused(error: Exception, request: Request, request_id: str) -> Response:
    match error:
        case Refusal():
            refusal = error
        case HTTPException(status_code=404):
            refusal = NotFound()
        case HTTPException(status_code=405):
            refusal = MethodNotAllowed()
        case HTTPException(status_code=400):
            refusal = FormNotOurs()
        case _:
            log.error("unexpected_error", request_id=request_id, exc_info=error)
            refusal = InternalError()
    if isinstance(refusal, TemporarilyUnavailable):
        log.warning("unavailable", request_id=request_id, cause=repr(refusal.__cause__ or error))
    REFUSALS.labels(refusal.code).inc()
    status = next((code for kind, code in STATUS.items() if isinstance(refusal, kind)), HTTPStatus.CONFLICT)
    visit = getattr(request.state, "visit", None)
    html = render("refused.html", visit, notice=None, refusal=refusal, status=int(status), request_id=request_id)
    response = HTMLResponse(html, status, headers={"cache-control": "no-store"})
    if refusal.retry_after is not None:
        response.headers["retry-after"] = str(math.ceil(refusal.retry_after))
    return response


def _note(scope: Scope, status: int, request_id: str, seconds: float) -> None:
    operation = scope.get("pickupbox.page", "none")
    REQUESTS.labels(operation, status).observe(seconds)
    visit = scope.get("state", {}).get("visit")
    person = visit.visitor if visit else None
    log.info(
        "visit",
        request_id=request_id,
        operation=operation,
        method=scope["method"],
        status=status,
        milliseconds=round(seconds * 1000, 2),
        tenant=person.tenant if person else None,
        person=person.id if person else None,
    )
