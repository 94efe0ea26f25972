"""Judging an answer: pure. A request is a value of `calls`, an answer is one of these."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from pickupbox_sdk.errors import ApiError, PickupboxError, UnexpectedAnswer, ValidationFailed, error_class


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. The names of `headers` are looked up in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def unexpected(answer: Answer) -> UnexpectedAnswer:
    return UnexpectedAnswer(answer.status, answer.headers.get("content-type", ""))


def refusal_of(answer: Answer) -> PickupboxError:
    """The exception for an answer that is not a success, from either error body of the contract."""
    retry_after = retry_after_of(answer)
    try:
        body = answer.json()
        if answer.status == 422 and "detail" in body:
            request_id, message = answer.headers.get("x-request-id", ""), "The path is not valid."
            return ValidationFailed(ValidationFailed.code, message, request_id, body["detail"], 422)
        error = body["error"]
        kind: type[ApiError] = error_class(error["code"], answer.status)
        return kind(
            error["code"], error["message"], error["request_id"], error.get("details"), answer.status, retry_after
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return unexpected(answer)


def retry_after_of(answer: Answer) -> float | None:
    """The seconds that Retry-After asks for; a date is compared with the answer's own Date, not with our clock."""
    text = answer.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(answer.headers.get("date", ""))
    except (ValueError, TypeError):
        return None
    return max(0.0, wait.total_seconds())
