"""Webhooks: is this one of Pickupbox, unchanged and fresh? Signatures are those of Standard Webhooks."""

import hmac
import json
import time
from base64 import b64encode
from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from typing import Any

from pickupbox_sdk.errors import PickupboxError
from pickupbox_sdk.models import Event, EventData

__all__ = ["Reason", "VerificationFailed", "sign", "verify"]

TOLERANCE = 300
_PREFIX = "whsec_"
_LOOKED_INTO = 64 * 1024  # of a body that does not verify, no more is parsed to find out why


class Reason(StrEnum):
    """Why a webhook is refused, with what to do about it."""

    MISSING_HEADER = "missing_header"
    BAD_HEADER = "bad_header"
    WRONG_SECRET = "wrong_secret"  # noqa: S105 - a reason
    REWRITTEN_BODY = "rewritten_body"
    CLOCK = "clock"
    NOT_AN_EVENT = "not_an_event"


class VerificationFailed(PickupboxError):  # noqa: N818 - named by what happened
    """The webhook is not to be trusted; `reason` says why. Answer it with 400."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(reason, message)
        self.reason = reason
        self.message = message

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


def verify(
    body: bytes,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> Event:
    """The event of a webhook; raises VerificationFailed if it was not signed with the secret, or not lately.

    `body` is what came, byte for byte: parsed and written again, it is something else. `headers` are those of the
    request, in any case. Of several secrets one must fit: give the old and the new one while you change it.
    `tolerance` is how many seconds the clocks may differ, `now` the time if it is not that of this machine.
    """
    if not isinstance(body, bytes | bytearray | memoryview):
        raise TypeError("body is the bytes of the request, before anything parsed them")
    keys = [_key(one) for one in ([secret] if isinstance(secret, str) else secret)]
    if not keys:
        raise ValueError("there is no secret to verify with")
    body = bytes(body)
    found = {name.lower(): value for name, value in headers.items()}
    event_id = _header(found, "service-event-id", "webhook-id")
    sent_at = _header(found, "service-timestamp", "webhook-timestamp")
    signatures = _header(found, "service-signature", "webhook-signature").split()
    if not (sent_at.isascii() and sent_at.isdigit() and len(sent_at) < 16):
        raise VerificationFailed(Reason.BAD_HEADER, "Service-Timestamp is not a number of seconds")
    if not _fits(keys, event_id, sent_at, body, signatures):
        raise _why(keys, event_id, sent_at, body, signatures)
    late = (time.time() if now is None else now) - int(sent_at)
    if abs(late) > tolerance:
        side = f"sent {late:.0f} s ago" if late > 0 else f"sent {-late:.0f} s from now"
        raise VerificationFailed(Reason.CLOCK, f"{side}, by this clock; {tolerance:.0f} s are allowed. Is it right?")
    return _event(body)


def sign(secret: str, event_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers that the service would send with this body; for tests."""
    sent_at = str(timestamp)
    signature = _signature(_key(secret), event_id, sent_at, body)
    values = (event_id, sent_at, signature)
    ours = dict(zip(("Service-Event-Id", "Service-Timestamp", "Service-Signature"), values, strict=True))
    return ours | dict(zip(("webhook-id", "webhook-timestamp", "webhook-signature"), values, strict=True))


def _key(secret: str) -> bytes:
    try:
        key = a2b_base64(secret.removeprefix(_PREFIX), strict_mode=True)
    except (NotBase64, ValueError):
        key = b""
    if not key or not secret.startswith(_PREFIX):
        # The secret itself is not repeated: this may end in a log.
        raise ValueError(f"not a webhook secret: {_PREFIX} and the base64 of its bytes")
    return key


def _signature(key: bytes, event_id: str, sent_at: str, body: bytes) -> str:
    signed = f"{event_id}.{sent_at}.".encode() + body
    return "v1," + b64encode(hmac.digest(key, signed, "sha256")).decode()


def _fits(keys: Sequence[bytes], event_id: str, sent_at: str, body: bytes, signatures: Sequence[str]) -> bool:
    fits = False
    for key in keys:
        ours = _signature(key, event_id, sent_at, body).encode()
        for signature in signatures:
            fits |= hmac.compare_digest(ours, signature.encode(errors="replace"))
    return fits


def _header(headers: Mapping[str, str], *names: str) -> str:
    for name in names:
        if headers.get(name):
            return headers[name]
    raise VerificationFailed(Reason.MISSING_HEADER, f"there is no {names[0].title()} header")


def _event(body: bytes) -> Event:
    try:
        return Event.from_json(json.loads(body))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise VerificationFailed(Reason.NOT_AN_EVENT, "signed with the secret, but the body is no event") from None


def _why(
    keys: Sequence[bytes], event_id: str, sent_at: str, body: bytes, signatures: Sequence[str]
) -> VerificationFailed:
    """A body that fits when it is written as the service writes was parsed and written again on its way."""
    if any(_fits(keys, event_id, sent_at, other, signatures) for other in _other_spellings(body)):
        return VerificationFailed(
            Reason.REWRITTEN_BODY,
            "the body was parsed and written again before it came here. Take the bytes of the request as they are",
        )
    return VerificationFailed(
        Reason.WRONG_SECRET, "no signature fits: the secret is that of another endpoint, or the body was changed"
    )


def _other_spellings(body: bytes) -> Iterator[bytes]:
    """The same JSON as the service writes it, and as others might; in the order that it has, and in the contract's."""
    try:
        value = json.loads(body) if len(body) <= _LOOKED_INTO else None
        data = value.pop("data") if isinstance(value, dict) else None
    except (ValueError, LookupError, RecursionError):
        return
    if not isinstance(value, dict) or not isinstance(data, dict):
        return
    for event, about in ((value, data), (_in_order_of(Event, value), _in_order_of(EventData, data))):
        # The service's own: the event is compact, its data as PostgreSQL writes JSON.
        yield _written(event, (",", ":"))[:-1] + b',"data":' + _written(about, (", ", " : ")) + b"}"
        whole = {**event, "data": about}
        yield _written(whole, (",", ":"))
        yield _written(whole, (", ", ": "))
        yield _written(whole, (",", ": "), indent=2)


def _in_order_of(model: type[Event | EventData], value: Mapping[str, Any]) -> dict[str, Any]:
    order = ["api_version", *(field.name for field in fields(model))]
    return {name: value[name] for name in dict.fromkeys([*order, *value]) if name in value}


def _written(value: Any, separators: tuple[str, str], indent: int | None = None) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=separators, indent=indent).encode(errors="replace")
