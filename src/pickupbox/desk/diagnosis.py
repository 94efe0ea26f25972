"""Whether a webhook's signature holds, and if not why. The verdict is the SDK's; what follows explains it. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from pickupbox_sdk import Event, VerificationFailed, webhooks
from pickupbox_sdk.webhooks import Reason

from pickupbox.desk.spellings import writers_of
from pickupbox.webhooks.signing import PREFIX, key_of, signed_headers

TOLERANCE = 300.0
ANY_TIME = float("inf")
SEARCHED_SECONDS = 3600  # around a timestamp, for the one that was signed


class Verdict(StrEnum):
    HOLDS = "holds"
    MISSING_HEADER = "missing_header"
    BAD_HEADER = "bad_header"
    ANOTHER_VERSION = "another_version"
    ANOTHER_DELIVERY = "another_delivery"
    NO_SECRET = "no_secret"  # noqa: S105 - a verdict, as are the next three
    DRESSED_SECRET = "dressed_secret"  # noqa: S105
    UNDECODED_SECRET = "undecoded_secret"  # noqa: S105
    WRONG_SECRET = "wrong_secret"  # noqa: S105
    REWRITTEN_BODY = "rewritten_body"
    CHANGED_BYTES = "changed_bytes"
    CUT_BODY = "cut_body"
    CLOCK = "clock"
    NOT_AN_EVENT = "not_an_event"


@dataclass(frozen=True, slots=True)
class Finding:
    verdict: Verdict
    text: str
    event: Event | None = None


def diagnose(
    body: bytes, headers: Mapping[str, str], secret: str, *, now: float, tolerance: float = TOLERANCE
) -> Finding:
    """`headers` are named in lower case."""
    plain = _undressed(secret)
    try:
        key_of(plain)
        event = webhooks.verify(body, headers, plain, now=now, tolerance=tolerance)
    except ValueError:
        return Finding(
            Verdict.NO_SECRET,
            f"What was given is no webhook secret: {PREFIX} and 44 characters, as `pickupbox webhook add` and "
            "`pickupbox listen` print it.",
        )
    except VerificationFailed as failed:
        return _explained(failed, body, headers, plain, now)
    if plain != secret:
        return Finding(
            Verdict.DRESSED_SECRET,
            f"It holds with the secret, but not as it was given: {_dress(secret)}. Keep the bare {PREFIX}… in your "
            "settings.",
        )
    return Finding(Verdict.HOLDS, "The signature holds.", event)


def _undressed(secret: str) -> str:
    plain = secret.strip().strip("\"'").strip()
    return plain if plain.startswith(PREFIX) else PREFIX + plain


def _dress(secret: str) -> str:
    if secret.strip() != secret:
        return "there is a space or a line break around it"
    if secret.strip("\"'") != secret:
        return "there are quotes around it"
    return f"it lacks {PREFIX} at its beginning"


def _explained(failed: VerificationFailed, body: bytes, headers: Mapping[str, str], secret: str, now: float) -> Finding:
    match failed.reason:
        case Reason.MISSING_HEADER:
            return Finding(
                Verdict.MISSING_HEADER,
                f"{_sentence(failed.message)} Every delivery has Service-Event-Id, Service-Timestamp and "
                "Service-Signature. Does a proxy or a framework drop or rename it?",
            )
        case Reason.BAD_HEADER:
            return Finding(Verdict.BAD_HEADER, f"{_sentence(failed.message)} Take the header as it came.")
        case Reason.REWRITTEN_BODY:
            return _rewritten(body)
        case Reason.CLOCK:
            return _clock(headers, now)
        case Reason.NOT_AN_EVENT:
            return Finding(Verdict.NOT_AN_EVENT, "The signature holds, but the body is no event of Pickupbox.")
        case _:
            return _unfitting(body, headers, secret)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _rewritten(body: bytes) -> Finding:
    writers = writers_of(body)
    by = f", as {' or '.join(writers[:3])} writes it" if writers else ""
    end = " There is a line break at its end, too." if body != body.rstrip() else ""
    return Finding(
        Verdict.REWRITTEN_BODY,
        f"It was parsed and written again{by}.{end} Secret and headers are right. Verify the bytes of the "
        "request, before anything parses them: request.get_data() in Flask, request.body in Django, express.raw() in "
        "Express, file_get_contents('php://input') in PHP.",
    )


def _clock(headers: Mapping[str, str], now: float) -> Finding:
    off = now - int(_header(headers, "timestamp"))
    side = "ago" if off > 0 else "in the future"
    return Finding(
        Verdict.CLOCK,
        f"Secret and body are right, but it was sent {_span(abs(off))} {side} by this clock, and 5 min are allowed. Is "
        "the clock right (`timedatectl`)? For a request that you kept, use --any-time.",
    )


def _span(seconds: float) -> str:
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _header(headers: Mapping[str, str], name: str) -> str:
    ours = {"id": "service-event-id"}.get(name, f"service-{name}")
    return headers.get(ours) or headers.get(f"webhook-{name}", "")


@dataclass(frozen=True, slots=True)
class _Delivery:
    event_id: str
    sent_at: int
    body: bytes
    signatures: tuple[str, ...]

    def fits(self, key: bytes) -> bool:
        return signed_headers([key], self.event_id, self.sent_at, self.body)["Service-Signature"] in self.signatures


def _unfitting(body: bytes, headers: Mapping[str, str], secret: str) -> Finding:
    """No signature fits: the first of the usual mistakes without which one would, or that can be seen."""
    signatures = tuple(_header(headers, "signature").split())
    given = _Delivery(_header(headers, "id"), int(_header(headers, "timestamp")), body, signatures)
    key = key_of(secret)
    return (
        _another_version(signatures)
        or _undecoded(given, secret)
        or _changed_bytes(given, key)
        or _another_event(given)
        or _another_time(given, key)
        or _cut(body, headers)
        or Finding(
            Verdict.WRONG_SECRET,
            "No signature fits: the secret is that of another endpoint, or the body was changed. Each endpoint has a "
            "secret of its own, and so has `pickupbox listen`.",
        )
    )


def _another_version(signatures: tuple[str, ...]) -> Finding | None:
    versions = sorted({one.partition(",")[0] for one in signatures if "," in one})
    if "v1" in versions:
        return None
    seen = f"is of version {', '.join(versions)}" if versions else "names no version"
    return Finding(
        Verdict.ANOTHER_VERSION,
        f"The signature {seen}. Ours is `v1,` and base64; take Service-Signature as it came.",
    )


def _undecoded(given: _Delivery, secret: str) -> Finding | None:
    if not any(given.fits(text.encode()) for text in (secret, secret.removeprefix(PREFIX))):
        return None
    return Finding(
        Verdict.UNDECODED_SECRET,
        f"It was signed with the text of the secret. The key is what stands behind {PREFIX}, decoded from base64.",
    )


def _changed_bytes(given: _Delivery, key: bytes) -> Finding | None:
    """Changes that leave no JSON to be written again, or that JSON does not show."""
    body = given.body
    changes = {
        "There are bytes before the body, such as a byte order mark.": body[body.find(b"{") :],
        "The body's line breaks and spaces at its ends are not those that came.": body.strip(),
        "The body was decoded as Latin-1 and encoded as UTF-8.": _once_more_latin(body),
    }
    for how, original in changes.items():
        if replace(given, body=original).fits(key):
            return Finding(Verdict.CHANGED_BYTES, f"{how} Verify the bytes of the request as they came.")
    return None


def _once_more_latin(body: bytes) -> bytes:
    try:
        return body.decode().encode("latin-1")
    except UnicodeError:
        return body


def _another_event(given: _Delivery) -> Finding | None:
    try:
        told = json.loads(given.body)["id"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    if told == given.event_id:
        return None
    return Finding(
        Verdict.ANOTHER_DELIVERY,
        f"Headers and body are of two deliveries: Service-Event-Id is {given.event_id}, the body is {told}.",
    )


def _another_time(given: _Delivery, key: bytes) -> Finding | None:
    for off in range(-SEARCHED_SECONDS, SEARCHED_SECONDS + 1):
        if given.sent_at + off >= 0 and replace(given, sent_at=given.sent_at + off).fits(key):
            return Finding(
                Verdict.ANOTHER_DELIVERY,
                f"Service-Timestamp is {given.sent_at}, but the signature was made for {given.sent_at + off}: the "
                "headers are of two attempts. Each attempt has its own; keep them together.",
            )
    return None


def _cut(body: bytes, headers: Mapping[str, str]) -> Finding | None:
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdigit()) or int(length) == len(body):
        return None
    return Finding(
        Verdict.CUT_BODY,
        f"The body has {len(body):,} bytes, and Content-Length says {int(length):,}: it is not whole, or was changed.",
    )
