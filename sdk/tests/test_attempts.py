"""When a call is tried again, step by step; nothing is sent and nobody waits."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from pickupbox_sdk import (
    ApiError,
    ConnectionFailed,
    InternalError,
    RateLimited,
    TemporarilyUnavailable,
    UnexpectedAnswer,
)
from pickupbox_sdk.answers import Answer
from pickupbox_sdk.attempts import Failure, Policy, Send, Sleep, attempts
from pickupbox_sdk.calls import Call, create_shipment, simulate_event

CREATE = create_shipment("box_1", "order-1")
SIMULATE = simulate_event("shp_1", "loaded")
LOST = Failure(OSError("cut"))
UNSENT = Failure(OSError("nobody there"), sent=False)


def refused(status: int, **headers: str) -> Answer:
    body = {"error": {"code": "some_code", "message": "No.", "request_id": "req_1"}}
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(body).encode())


def fine(_: Answer) -> str:
    return "read"


class Run:
    """One call, with a clock that moves by what each attempt takes and by what is slept."""

    def __init__(
        self, call: Call[Any], *outcomes: Answer | Failure, took: float = 0, chance: float = 1, **policy: float
    ) -> None:
        self.now = 100.0
        self.slept: list[float] = []
        self.timeouts: list[float] = []
        self.result: Any = None
        self.error: Exception | None = None
        made = Policy(**policy)  # type: ignore[arg-type]
        steps = attempts(
            Call(call.method, call.path, fine, repeatable=call.repeatable), made, self.clock, lambda: chance
        )
        left = list(outcomes)
        outcome: Answer | Failure | None = None
        try:
            while True:
                step = steps.send(outcome)
                if isinstance(step, Sleep):
                    self.slept.append(step.seconds)
                    self.now += step.seconds
                    outcome = None
                else:
                    assert isinstance(step, Send)
                    self.timeouts.append(step.timeout)
                    self.now += took
                    outcome = left.pop(0) if len(left) > 1 else left[0]
        except StopIteration as done:
            self.result = done.value
        except (ApiError, ConnectionFailed, UnexpectedAnswer) as error:
            self.error = error

    def clock(self) -> float:
        return self.now


OK = Answer(201, {}, b"{}")


def test_what_succeeds_is_sent_once() -> None:
    run = Run(CREATE, OK)
    assert (run.result, run.slept, run.timeouts) == ("read", [], [10.0])


@pytest.mark.parametrize("passing", [LOST, UNSENT, *(refused(status) for status in (429, 500, 502, 503, 504))])
def test_what_passes_is_tried_again(passing: Answer | Failure) -> None:
    run = Run(CREATE, passing, passing, OK)
    assert (run.result, run.slept) == ("read", [0.2, 0.4])


@pytest.mark.parametrize("status", [301, 400, 401, 404, 409, 422, 501])
def test_what_lasts_is_not(status: int) -> None:
    run = Run(CREATE, refused(status), OK)
    assert isinstance(run.error, ApiError)
    assert (run.error.status, run.slept) == (status, [])


def test_a_failure_that_lasts_is_not_tried_again() -> None:
    run = Run(CREATE, Failure(OSError("no such protocol"), sent=False, passing=False))
    assert isinstance(run.error, ConnectionFailed)
    assert run.slept == []


@pytest.mark.parametrize("unknown", [LOST, *(refused(status) for status in (500, 502, 503, 504))])
def test_what_must_not_be_done_twice_is_not_repeated_when_it_may_be_done(unknown: Answer | Failure) -> None:
    run = Run(SIMULATE, unknown, OK)
    assert run.error is not None
    assert run.slept == []


@pytest.mark.parametrize("undone", [UNSENT, refused(429)])
def test_what_must_not_be_done_twice_is_repeated_when_it_surely_was_not_done(undone: Answer | Failure) -> None:
    assert Run(SIMULATE, undone, OK).result == "read"


def test_waits_grow_twofold_up_to_the_longest_and_end_after_max_retries() -> None:
    run = Run(CREATE, refused(503), max_retries=6, deadline=1000)
    assert run.slept == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0]
    assert isinstance(run.error, ApiError)


def test_the_whole_wait_is_drawn() -> None:
    assert Run(CREATE, LOST, OK, chance=0).slept == [0]
    assert Run(CREATE, LOST, LOST, OK, chance=0.25).slept == [0.05, 0.1]


def test_max_retries_of_zero_is_one_attempt() -> None:
    run = Run(CREATE, LOST, max_retries=0)
    assert isinstance(run.error, ConnectionFailed)
    assert (run.error.attempts, run.slept) == (1, [])
    assert str(run.error) == "cut (1 attempt)"
    assert run.error.__cause__ is LOST.error


def test_retry_after_is_obeyed_with_the_jitter_on_top() -> None:
    run = Run(CREATE, refused(429, retry_after="7"), OK, chance=0.5)
    assert run.slept == [7.1]


def test_a_retry_after_beyond_the_deadline_is_told_at_once() -> None:
    run = Run(CREATE, refused(429, retry_after="31"), deadline=30)
    assert run.slept == []
    assert isinstance(run.error, ApiError)
    assert run.error.retry_after == 31


def test_no_attempt_begins_after_the_deadline() -> None:
    run = Run(CREATE, LOST, took=10, max_retries=100, deadline=30)
    assert isinstance(run.error, ConnectionFailed)
    assert run.error.attempts == 3
    assert run.now <= 131


def test_an_attempt_is_given_no_more_than_what_is_left() -> None:
    run = Run(CREATE, LOST, took=10, max_retries=100, deadline=30)
    assert run.timeouts == pytest.approx([10.0, 10.0, 30 - 20 - 0.6])


def test_a_sleep_that_takes_longer_than_it_should_ends_the_call_too() -> None:
    now = [0.0]
    steps = attempts(CREATE, Policy(), lambda: now[0], lambda: 1.0)
    steps.send(None)
    assert isinstance(steps.send(LOST), Sleep)
    now[0] = 31.0
    with pytest.raises(ConnectionFailed):
        steps.send(None)


def broken(error: Exception) -> Callable[[Answer], Any]:
    def read(_: Answer) -> Any:
        raise error

    return read


@pytest.mark.parametrize(
    "error", [ValueError("135790"), KeyError("id"), TypeError(), AttributeError(), RecursionError()]
)
def test_a_success_that_cannot_be_read_is_unexpected_and_keeps_the_body_to_itself(error: Exception) -> None:
    steps = attempts(Call("GET", "/x", broken(error)), Policy(), lambda: 0.0, lambda: 0.0)
    steps.send(None)
    with pytest.raises(UnexpectedAnswer) as raised:
        steps.send(Answer(200, {"content-type": "text/html"}, b"135790"))
    assert str(raised.value) == "not an answer of Pickupbox: status 200, text/html"
    assert raised.value.__suppress_context__


@pytest.mark.parametrize("policy", [{"timeout": 0}, {"deadline": 0}, {"max_retries": -1}, {"timeout": -1.0}])
def test_a_policy_that_makes_no_sense_is_refused(policy: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        Policy(**policy)


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("rate_limited", 429, RateLimited),
        ("internal_error", 500, InternalError),
        ("temporarily_unavailable", 503, TemporarilyUnavailable),
    ],
)
def test_what_stays_is_raised_as_what_it_was(code: str, status: int, kind: type[ApiError]) -> None:
    body = json.dumps({"error": {"code": code, "message": "No.", "request_id": "req_1"}}).encode()
    run = Run(CREATE, Answer(status, {"retry-after": "2"}, body), max_retries=1)
    assert type(run.error) is kind
    assert run.slept == [2.2]
