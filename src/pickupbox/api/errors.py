"""Refusals as HTTP: which status each has, and the two error bodies of the contract."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from pydantic_core import ErrorDetails
from starlette.responses import Response

from pickupbox.domain import errors
from pickupbox.domain.errors import Refusal

STATUS: dict[type[Refusal], int] = {
    errors.InvalidRequest: 400,
    errors.InvalidApiKey: 401,
    errors.NotFound: 404,
    errors.MethodNotAllowed: 405,
    errors.Conflict: 409,
    errors.ValidationFailed: 422,
    errors.RateLimited: 429,
    errors.InternalError: 500,
    errors.TemporarilyUnavailable: 503,
}


class InvalidPath(Exception):  # noqa: N818 - a refusal too, but with the framework's body
    """A path parameter of the read, PIN, cancel or retry operation is not an identifier."""

    def __init__(self, problems: Sequence[ErrorDetails]) -> None:
        super().__init__("the path is not valid")
        self.problems = problems


def status_of(refusal: Refusal) -> int:
    return next(STATUS[kind] for kind in type(refusal).__mro__ if kind in STATUS)


def envelope(refusal: Refusal, request_id: str, headers: Mapping[str, str] | None = None) -> Response:
    """`{"error": {code, message, request_id, details?}}`"""
    error: dict[str, Any] = {"code": refusal.code, "message": str(refusal), "request_id": request_id}
    if refusal.details is not None:
        error["details"] = refusal.details
    response = Response(orjson.dumps({"error": error}), status_of(refusal), headers, "application/json")
    if refusal.retry_after is not None:
        response.headers["retry-after"] = str(max(1, round(refusal.retry_after + 0.499)))
    return response


def validation_body(invalid: InvalidPath) -> Response:
    """`{"detail": [{loc, msg, type, input, ctx}]}`"""
    return Response(
        orjson.dumps({"detail": [_problem_of_path(p) for p in invalid.problems]}, default=str),
        422,
        media_type="application/json",
    )


def problem_of(problem: ErrorDetails, where: str) -> dict[str, Any]:
    """One broken rule, without what was sent: it may hold a customer's name."""
    return {"loc": [where, *problem["loc"]], "msg": problem["msg"], "type": problem["type"]}


def _problem_of_path(problem: ErrorDetails) -> dict[str, Any]:
    return problem_of(problem, "path") | {"input": _printable(problem["input"]), "ctx": problem.get("ctx", {})}


def _printable(value: Any) -> str:
    return str(value).encode("utf-8", "replace").decode()[:256]
