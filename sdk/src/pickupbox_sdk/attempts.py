"""When a call is tried again: a generator of steps, which the sync and the async client carry out. No I/O here."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

from pickupbox_sdk.answers import Answer, refusal_of, unexpected
from pickupbox_sdk.calls import Call
from pickupbox_sdk.errors import ApiError, ConnectionFailed, PickupboxError

T = TypeVar("T")

# A refusal that another attempt may not meet. 502 and 504 come from what stands before the service.
PASSING = frozenset({429, 500, 502, 503, 504})
REFUSED_UNDONE = frozenset({429})


@dataclass(frozen=True, slots=True)
class Policy:
    """How long and how often a call is tried, in seconds."""

    timeout: float = 10.0
    max_retries: int = 5
    deadline: float = 30.0
    first_wait: float = 0.2
    longest_wait: float = 5.0

    def __post_init__(self) -> None:
        if self.max_retries < 0 or self.timeout <= 0 or self.deadline <= 0:
            raise ValueError("timeout and deadline are more than 0 seconds, max_retries is at least 0")


@dataclass(frozen=True, slots=True)
class Send:
    """Send the call and say what came back."""

    call: Call[Any]
    timeout: float


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer came."""

    error: Exception
    sent: bool = True  # whether the service may have got the request
    passing: bool = True  # whether another attempt may go better


def attempts(
    call: Call[T], policy: Policy, clock: Callable[[], float], chance: Callable[[], float]
) -> Generator[Send | Sleep, Answer | Failure | None, T]:
    """The steps of one call: send, and while that may help and the deadline is not reached, wait and send again.

    The wait grows twofold and is drawn from all of it (full jitter), on top of what Retry-After asks for. A call that
    must not be done twice is repeated only if it surely was not done.
    """
    ends = clock() + policy.deadline
    tried = 0
    while True:
        outcome = yield Send(call, min(policy.timeout, ends - clock()) if tried else policy.timeout)
        tried += 1
        if isinstance(outcome, Answer) and 200 <= outcome.status < 300:
            return _read(call, outcome)
        error = _error(outcome, tried)
        if tried > policy.max_retries or not _may_repeat(call, outcome):
            raise error
        wait = chance() * min(policy.longest_wait, policy.first_wait * 2 ** (tried - 1))
        if isinstance(error, ApiError) and error.retry_after is not None:
            wait += error.retry_after
        if clock() + wait >= ends:
            raise error
        yield Sleep(wait)
        if clock() >= ends:
            raise error


def _read(call: Call[T], answer: Answer) -> T:
    try:
        return call.read(answer)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        # Without its cause, whose text may hold parts of the body.
        raise unexpected(answer) from None


def _error(outcome: Answer | Failure | None, tried: int) -> PickupboxError:
    if isinstance(outcome, Answer):
        return refusal_of(outcome)
    if not isinstance(outcome, Failure):
        raise TypeError("a Send is answered with an Answer or a Failure")
    error = ConnectionFailed(str(outcome.error) or type(outcome.error).__name__, tried)
    error.__cause__ = outcome.error
    return error


def _may_repeat(call: Call[Any], outcome: Answer | Failure | None) -> bool:
    if isinstance(outcome, Answer):
        return outcome.status in (PASSING if call.repeatable else REFUSED_UNDONE)
    return isinstance(outcome, Failure) and outcome.passing and (call.repeatable or not outcome.sent)
