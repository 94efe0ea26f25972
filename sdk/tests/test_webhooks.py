"""Verifying webhooks: what is ours passes, and what does not is told why."""

import base64
import json
from typing import Any

import pytest

from pickupbox_sdk import EventType, webhooks
from pickupbox_sdk.webhooks import Reason, VerificationFailed, sign, verify

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
OTHER = "whsec_" + base64.b64encode(b"o" * 32).decode()
NOW = 1_794_646_923
EVENT: dict[str, Any] = {
    "api_version": "1",
    "id": "evt_1",
    "type": "loaded",
    "occurred_at": "2026-11-14T09:02:03.118204Z",
    "data": {
        "shipment_id": "shp_1",
        "external_order_id": 'order "é" 📦\n',
        "attempt_number": 1,
        "retry_of_shipment_id": None,
        "box_id": "box_1",
        "box_name": "Central Station",
        "compartment_code": "A4",
        "status": "loaded",
        "compartment_state": "occupied",
        "pickup_available_at": "2026-11-14T09:02:02.904417Z",
        "pickup_expires_at": "2026-11-16T09:00:02.904417Z",
    },
}
DATA = json.dumps(EVENT["data"], ensure_ascii=False, separators=(", ", " : "))
# As the service writes it.
BODY = (
    '{"api_version":"1","id":"evt_1","type":"loaded","occurred_at":"2026-11-14T09:02:03.118204Z","data":' + DATA + "}"
).encode()


def headers(body: bytes = BODY, secret: str = SECRET, timestamp: int = NOW) -> dict[str, str]:
    return sign(secret, "evt_1", timestamp, body)


def reason(*args: Any, **kwargs: Any) -> Reason:
    with pytest.raises(VerificationFailed) as raised:
        verify(*args, **{"now": NOW, **kwargs})
    assert str(raised.value) == f"{raised.value.reason}: {raised.value.message}"
    return raised.value.reason


def test_what_is_ours_is_an_event() -> None:
    event = verify(BODY, headers(), SECRET, now=NOW)
    assert (event.id, event.type, event.data.external_order_id) == ("evt_1", EventType.LOADED, 'order "é" 📦\n')


def test_the_signature_is_that_of_the_guide() -> None:
    # The example of docs/webhooks.md.
    signed = sign("whsec_YW4gZXhhbXBsZToga2VlcCB5b3VycyB0byB5b3UuLi4=", "evt_1", 1794646923, b'{"type":"loaded"}')
    assert signed["Service-Signature"] == "v1,/T7ZMV7/lJX8vHf78Qzx1Ln9TOgrJtkfmZKjTb5SfLo="
    assert signed["webhook-signature"] == signed["Service-Signature"]


@pytest.mark.parametrize("case", [str.lower, str.upper, str.title])
def test_names_of_headers_come_in_any_case(case: Any) -> None:
    ours = {case(name): value for name, value in headers().items() if name.startswith("Service")}
    stock = {case(name): value for name, value in headers().items() if name.startswith("webhook")}
    for given in (ours, stock):
        assert len(given) == 3
        assert verify(BODY, given, SECRET, now=NOW).id == "evt_1"


@pytest.mark.parametrize("name", ["Event-Id", "Timestamp", "Signature"])
def test_a_missing_header_is_named(name: str) -> None:
    short = {"Event-Id": "id"}.get(name, name.lower())
    given = {k: v for k, v in headers().items() if k not in (f"Service-{name}", f"webhook-{short}")}
    with pytest.raises(VerificationFailed, match=f"Service-{name}") as raised:
        verify(BODY, given, SECRET, now=NOW)
    assert raised.value.reason is Reason.MISSING_HEADER


@pytest.mark.parametrize("timestamp", ["now", "-1", "1e9", "\uff11\uff17", "1" * 30])
def test_a_timestamp_is_a_number_of_seconds(timestamp: str) -> None:
    assert reason(BODY, {**headers(), "Service-Timestamp": timestamp}, SECRET) is Reason.BAD_HEADER


def test_a_wrong_secret_is_said() -> None:
    assert reason(BODY, headers(secret=OTHER), SECRET) is Reason.WRONG_SECRET


def test_a_changed_body_or_id_or_time_does_not_pass() -> None:
    assert reason(BODY.replace(b"shp_1", b"shp_2"), headers(), SECRET) is Reason.WRONG_SECRET
    assert reason(BODY, {**headers(), "Service-Event-Id": "evt_2"}, SECRET) is Reason.WRONG_SECRET
    assert reason(BODY, {**headers(), "Service-Timestamp": str(NOW + 1)}, SECRET) is Reason.WRONG_SECRET


def test_during_a_rotation_either_side_may_have_two() -> None:
    assert verify(BODY, headers(secret=OTHER), [SECRET, OTHER], now=NOW).id == "evt_1"
    both = f"{headers()['Service-Signature']} {headers(secret=OTHER)['Service-Signature']}"
    assert verify(BODY, {**headers(), "Service-Signature": both}, OTHER, now=NOW).id == "evt_1"
    assert reason(BODY, {**headers(), "Service-Signature": "v1,x v2,y é"}, SECRET) is Reason.WRONG_SECRET


@pytest.mark.parametrize("off", [-301, 301, 10**9])
def test_an_old_or_early_one_is_the_clock(off: int) -> None:
    assert reason(BODY, headers(), SECRET, now=NOW + off) is Reason.CLOCK


@pytest.mark.parametrize("off", [-300, 0, 300])
def test_within_the_tolerance_it_passes(off: int) -> None:
    assert verify(BODY, headers(), SECRET, now=NOW + off).id == "evt_1"
    assert reason(BODY, headers(), SECRET, now=NOW + off + 1, tolerance=0) is Reason.CLOCK


def test_the_clock_is_that_of_the_machine_unless_said() -> None:
    with pytest.raises(VerificationFailed) as raised:
        verify(BODY, headers(timestamp=1_000_000_000), SECRET)
    assert raised.value.reason is Reason.CLOCK


@pytest.mark.parametrize(
    "rewritten",
    [
        json.dumps(EVENT),
        json.dumps(EVENT, ensure_ascii=False),
        json.dumps(EVENT, separators=(",", ":")),
        json.dumps(EVENT, indent=4),
        json.dumps(EVENT, sort_keys=True),
        json.dumps(EVENT, sort_keys=True, separators=(",", ":"), ensure_ascii=False),
    ],
)
@pytest.mark.parametrize(
    "signed",
    [BODY, json.dumps(EVENT, separators=(",", ":"), ensure_ascii=False).encode(), json.dumps(EVENT, indent=2).encode()],
)
def test_a_body_that_was_parsed_and_written_again_is_said_so_and_refused(rewritten: str, signed: bytes) -> None:
    if b"\\u" in signed:  # with escapes it is like nothing that the service writes
        signed = json.dumps(EVENT, indent=2, ensure_ascii=False).encode()
    if rewritten.encode() != signed:
        assert reason(rewritten.encode(), headers(signed), SECRET) is Reason.REWRITTEN_BODY


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"data": 1}', b"[" * 100_000, b"\xff", b'{"data": {}, "id": "\\ud800"}']
)
def test_nonsense_is_refused_whoever_signed_it(body: bytes) -> None:
    assert reason(body, headers(), SECRET) is Reason.WRONG_SECRET
    assert reason(body, headers(body), SECRET) is Reason.NOT_AN_EVENT


@pytest.mark.parametrize("secret", ["", "whsec_=", "whsec_not base64!", SECRET.removeprefix("whsec_"), []])
def test_what_is_no_secret_is_a_mistake_and_not_repeated(secret: Any) -> None:
    with pytest.raises(ValueError, match="secret") as raised:
        verify(BODY, headers(), secret, now=NOW)
    assert not secret or secret not in str(raised.value)


@pytest.mark.parametrize("body", [BODY.decode(), EVENT])
def test_a_body_that_is_no_longer_bytes_is_a_mistake(body: Any) -> None:
    with pytest.raises(TypeError, match="bytes of the request"):
        verify(body, headers(), SECRET, now=NOW)


def test_signatures_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []
    real = webhooks.hmac.compare_digest
    monkeypatch.setattr(webhooks.hmac, "compare_digest", lambda a, b: compared.append(b) or real(a, b))
    two = f"{headers()['Service-Signature']} {headers(secret=OTHER)['Service-Signature']}"
    verify(BODY, {**headers(), "Service-Signature": two}, [SECRET, OTHER], now=NOW)
    assert len(compared) == 4, "every pair is compared, also after one that fits"
