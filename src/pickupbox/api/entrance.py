"""The entrance of every request: its id, its key, its limit, its answer, its log line, its metrics.

The key is looked at before anything else, so that a stranger learns nothing of what exists. Deny by default:
a path under the base address needs a key unless it is listed as open.
"""

import os
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from prometheus_client import Histogram
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pickupbox.api.authentication import Keys
from pickupbox.api.errors import InvalidPath, envelope, validation_body
from pickupbox.api.rate_limit import Limiter, Policy, Verdict
from pickupbox.api.reference import FILES
from pickupbox.api.request_log import RequestLog
from pickupbox.database.requests import Request
from pickupbox.domain.errors import (
    InternalError,
    InvalidApiKey,
    MethodNotAllowed,
    NotFound,
    RateLimited,
    Refusal,
    TemporarilyUnavailable,
)
from pickupbox.telemetry import REFUSALS, REQUESTS, log
from pickupbox.usecases.core import Caller, Core

BASE = "/v1"
OPEN = frozenset(f"{BASE}/{name}" for name in ("openapi.json", "docs", *(f"docs/{name}" for name in FILES)))
PIN_PATH = re.compile(rf"{BASE}/shipments/[^/]+/pickup-pin")
REVEALING = ("GET", "HEAD")
PIN_POLICY = Policy("pin", 60 / 3600, 60)

_sane_request_id = re.compile(r"[A-Za-z0-9._-]{1,64}").fullmatch


@dataclass(slots=True)
class _Visit:
    """One request on its way through."""

    request_id: str
    began: float
    status: int = 500
    tenant: str | None = None
    key: str | None = None
    policy: Policy | None = None
    verdict: Verdict | None = None
    code: str | None = None  # of the refusal


class Entrance:
    def __init__(self, app: ASGIApp, core: Core, keys: Keys, limiter: Limiter, request_log: RequestLog) -> None:
        self._app = app
        self._core = core
        self._keys = keys
        self._limiter = limiter
        self.request_log = request_log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        visit = _Visit(_request_id(headers), time.perf_counter())
        scope["pickupbox.core"] = self._core

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                message["headers"] = [*message["headers"], *_headers(visit)]
            await send(message)

        try:
            await self._admit(scope, headers, visit)
            await self._app(scope, receive, send_with_headers)
        except Exception as error:  # noqa: BLE001 - every request is answered, and an unexpected error is logged
            await _refusal(error, visit)(scope, receive, send_with_headers)
        finally:
            self._note(scope, visit)

    async def _admit(self, scope: Scope, headers: dict[bytes, bytes], visit: _Visit) -> None:
        path: str = scope["path"]
        if not path.startswith(f"{BASE}/") or path in OPEN:
            return
        holder = await self._keys.holder(headers.get(b"authorization", b"").decode("latin-1"))
        visit.tenant, visit.key = holder.tenant_id, holder.key_id
        await self._limit(visit, holder.key_id, Policy("key", holder.rate_per_second, holder.rate_burst))
        if scope["method"] in REVEALING and PIN_PATH.fullmatch(path):
            await self._limit(visit, f"{holder.key_id}:pin", PIN_POLICY)
        client = scope.get("client")
        scope["pickupbox.caller"] = Caller(
            holder.tenant_id, holder.key_id, visit.request_id, client[0] if client else None
        )

    async def _limit(self, visit: _Visit, bucket: str, policy: Policy) -> None:
        visit.policy = policy
        visit.verdict = await self._limiter.take(bucket, policy)
        if not visit.verdict.allowed:
            raise RateLimited(retry_after=visit.verdict.retry_after)

    def _note(self, scope: Scope, visit: _Visit) -> None:
        seconds = time.perf_counter() - visit.began
        endpoint = scope.get("endpoint")
        operation = endpoint.__name__ if endpoint else "none"
        _requests(operation, visit.status).observe(seconds)
        milliseconds = round(seconds * 1000, 2)
        log.info(
            "request",
            request_id=visit.request_id,
            operation=operation,
            method=scope["method"],
            path=scope["path"],
            status=visit.status,
            milliseconds=milliseconds,
            tenant=visit.tenant,
            key=visit.key,
        )
        if visit.tenant is not None and visit.key is not None:  # what strangers ask is nobody's to look at
            client = scope.get("client")
            self.request_log.add(
                Request(
                    datetime.now(UTC),
                    visit.tenant,
                    visit.key,
                    visit.request_id,
                    operation,
                    scope["method"],
                    scope["path"],
                    visit.status,
                    visit.code,
                    milliseconds,
                    client[0] if client else None,
                )
            )


def _request_id(headers: dict[bytes, bytes]) -> str:
    """The caller's own if it is sane, else a new one."""
    own = headers.get(b"x-request-id", b"").decode("latin-1")
    return own if _sane_request_id(own) else f"req_{os.urandom(12).hex()}"


def _headers(visit: _Visit) -> list[tuple[bytes, bytes]]:
    headers = [(b"x-request-id", visit.request_id.encode())]
    if visit.policy is not None and visit.verdict is not None:
        policy, verdict = visit.policy, visit.verdict
        full_in = round((policy.burst - verdict.remaining) / policy.per_second)
        headers.append((b"ratelimit-policy", f'"{policy.name}";q={policy.burst};w={policy.window}'.encode()))
        headers.append((b"ratelimit", f'"{policy.name}";r={verdict.remaining};t={full_in}'.encode()))
    return headers


def _refusal(error: Exception, visit: _Visit) -> Response:
    """The answer to a request that was refused, whatever refused it."""
    headers: dict[str, str] = {}
    match error:
        case InvalidPath():
            visit.code = "invalid_path"
            REFUSALS.labels(visit.code).inc()
            return validation_body(error)
        case Refusal():
            refusal = error
        case HTTPException(status_code=404):
            refusal = NotFound()
        case HTTPException(status_code=405):
            refusal = MethodNotAllowed()
            headers.update(error.headers or {})
        case _:
            log.error("unexpected_error", request_id=visit.request_id, exc_info=error)
            refusal = InternalError()
    if isinstance(refusal, InvalidApiKey):
        headers["www-authenticate"] = "Bearer"
    if isinstance(refusal, TemporarilyUnavailable):
        log.warning("unavailable", request_id=visit.request_id, cause=repr(refusal.__cause__ or error))
    visit.code = refusal.code
    REFUSALS.labels(visit.code).inc()
    return envelope(refusal, visit.request_id, headers)


@cache
def _requests(operation: str, status: int) -> Histogram:
    return REQUESTS.labels(operation, status)
