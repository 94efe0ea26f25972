"""Judging an answer that is no success."""

import json
import pickle
from typing import Any

import pytest

from pickupbox_sdk import (
    ApiError,
    Conflict,
    ConnectionFailed,
    NotFound,
    PickupboxError,
    UnexpectedAnswer,
    ValidationFailed,
)
from pickupbox_sdk.answers import Answer, refusal_of, retry_after_of
from pickupbox_sdk.errors import BY_CODE


def answer(status: int, body: Any, **headers: str) -> Answer:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, content)


def envelope(code: str, details: Any = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": "No.", "request_id": "req_1", "details": details}}


@pytest.mark.parametrize("code", BY_CODE)
def test_every_code_is_raised_as_its_class(code: str) -> None:
    kind = BY_CODE[code]
    error = refusal_of(answer(kind.status, envelope(code, {"a": 1}), retry_after="3"))
    assert type(error) is kind
    assert (error.code, error.message, error.request_id, error.details) == (code, "No.", "req_1", {"a": 1})
    assert (error.status, error.retry_after) == (kind.status, 3)
    assert str(error) == f"No. ({code}, request req_1)"


@pytest.mark.parametrize(("status", "kind"), [(404, NotFound), (409, Conflict), (418, ApiError), (503, ApiError)])
def test_a_code_that_is_not_known_is_of_its_kind(status: int, kind: type[ApiError]) -> None:
    error = refusal_of(answer(status, envelope("of_tomorrow")))
    assert type(error) is kind
    assert error.code == "of_tomorrow"


def test_the_frameworks_body_is_a_failed_validation_too() -> None:
    detail = [{"loc": ["path", "shipment_id"], "msg": "too long", "type": "string_too_long"}]
    error = refusal_of(answer(422, {"detail": detail}, x_request_id="req_2"))
    assert type(error) is ValidationFailed
    assert (error.code, error.status, error.request_id, error.details) == ("validation_failed", 422, "req_2", detail)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null", b"7", b'{"error": "x"}', b'{"error": {"code": "x"}}'])
@pytest.mark.parametrize("status", [302, 404, 422, 502])
def test_what_the_service_would_not_say_is_unexpected(status: int, body: bytes) -> None:
    error = refusal_of(answer(status, body, content_type="text/html"))
    assert type(error) is UnexpectedAnswer
    assert (error.status, error.content_type) == (status, "text/html")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry_after": "0"}, 0),
        ({"retry_after": " 12 "}, 12),
        ({"retry_after": "9" * 400}, 999_999_999),
        ({"retry_after": "-1"}, None),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "Sat, 14 Nov 2026 09:00:30 GMT"}, None),
        ({"retry_after": "Sat, 14 Nov 2026 09:00:30 GMT", "date": "Sat, 14 Nov 2026 09:00:00 GMT"}, 30),
        ({"retry_after": "Sat, 14 Nov 2026 09:00:00 GMT", "date": "Sat, 14 Nov 2026 09:00:30 GMT"}, 0),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_of(answer(429, b"", **headers)) == seconds


@pytest.mark.parametrize(
    "error",
    [
        refusal_of(answer(409, envelope("no_compartment_available", [1]), retry_after="3")),
        ConnectionFailed("cut", 3),
        UnexpectedAnswer(502, "text/html"),
    ],
)
def test_an_exception_survives_pickling(error: PickupboxError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert type(again) is type(error)
    assert (again.args, vars(again), str(again)) == (error.args, vars(error), str(error))
