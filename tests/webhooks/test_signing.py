"""Signatures: what a stock verifier accepts, and that it refuses everything else."""

import base64
import time
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from pickupbox.webhooks.signing import key_of, new_secret, signed_headers

SECRET = new_secret(bytes(range(32)))
OTHER_SECRET = new_secret(bytes(range(1, 33)))
EVENT_ID = "evt_c1_019a8f3c5d21a3b1c2d3e4f5061728ab"
BODY = '{"id":"evt_c1_019a8f3c5d21a3b1c2d3e4f5061728ab","type":"loaded","data":{"box_name":"Café 東京"}}'.encode()
FIVE_MINUTES = 300
SOME_SECONDS = 10  # so that a slow machine does not decide what is too old


def headers_of(*secrets: str, body: bytes = BODY, age: int = 0, event_id: str = EVENT_ID) -> dict[str, str]:
    return signed_headers([key_of(secret) for secret in secrets], event_id, int(time.time()) - age, body)


def accepts(secret: str, headers: dict[str, str], body: bytes = BODY) -> bool:
    """What a stock verifier says to the headers as they are."""
    try:
        Webhook(secret).verify(body, headers, json_parse=False)
    except (WebhookVerificationError, UnicodeDecodeError):
        return False
    return True


def changed(text: bytes, position: int, difference: int) -> bytes:
    """The text with one byte changed."""
    at = position % len(text)
    return text[:at] + bytes([text[at] ^ difference]) + text[at + 1 :]


def test_the_signature_is_that_of_the_published_example() -> None:
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")  # from Standard Webhooks' own tests
    headers = signed_headers([key], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert headers == {
        "Service-Event-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "Service-Timestamp": "1614265330",
        "Service-Signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@given(chance=st.binary(min_size=32, max_size=32), event_id=st.from_regex(r"\Aevt_[a-z0-9_]+\Z"), body=st.text())
def test_a_stock_verifier_accepts_every_delivery(chance: bytes, event_id: str, body: str) -> None:
    secret = new_secret(chance)
    headers = headers_of(secret, body=body.encode(), event_id=event_id)
    assert accepts(secret, headers, body.encode())
    for ours, stock in (("Event-Id", "id"), ("Timestamp", "timestamp"), ("Signature", "signature")):
        assert headers[f"Service-{ours}"] == headers[f"webhook-{stock}"]


@given(position=st.integers(min_value=0, max_value=len(BODY) - 1), difference=st.integers(1, 255))
def test_a_changed_byte_of_the_body_is_refused(position: int, difference: int) -> None:
    assert not accepts(SECRET, headers_of(SECRET), changed(BODY, position, difference))


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp"])
@given(position=st.integers(min_value=0, max_value=len(EVENT_ID) - 1), difference=st.integers(1, 255))
def test_a_changed_byte_of_the_id_or_the_timestamp_is_refused(name: str, position: int, difference: int) -> None:
    headers = headers_of(SECRET)
    raw = changed(headers[name].encode(), position, difference)
    assert not accepts(SECRET, headers | {name: raw.decode("latin-1")})


@given(body=st.text(min_size=1), cut=st.integers(min_value=0))
def test_a_cut_body_is_refused(body: str, cut: int) -> None:
    left = body[: cut % len(body)]
    assert not accepts(SECRET, headers_of(SECRET, body=body.encode()), left.encode())


@given(beyond=st.integers(min_value=SOME_SECONDS, max_value=10**9), sign=st.sampled_from([1, -1]))
def test_an_old_timestamp_and_one_of_the_future_are_refused(beyond: int, sign: int) -> None:
    assert not accepts(SECRET, headers_of(SECRET, age=sign * (FIVE_MINUTES + beyond)))
    assert accepts(SECRET, headers_of(SECRET, age=sign * (FIVE_MINUTES - SOME_SECONDS)))


@given(st.binary(min_size=32, max_size=32))
def test_a_wrong_secret_is_refused(chance: bytes) -> None:
    assert accepts(new_secret(chance), headers_of(SECRET)) == (new_secret(chance) == SECRET)


def test_during_a_rotation_the_old_and_the_new_secret_verify() -> None:
    both = headers_of(OTHER_SECRET, SECRET)
    assert accepts(OTHER_SECRET, both)
    assert accepts(SECRET, both)
    assert not accepts(new_secret(bytes(32)), both)
    assert not accepts(SECRET, headers_of(OTHER_SECRET)), "after the rotation"


def test_the_current_key_signs_first() -> None:
    now, keys = int(time.time()), [key_of(OTHER_SECRET), key_of(SECRET)]
    alone = [signed_headers([key], EVENT_ID, now, BODY)["Service-Signature"] for key in keys]
    assert signed_headers(keys, EVENT_ID, now, BODY)["Service-Signature"] == " ".join(alone)


def test_nothing_is_sent_unsigned() -> None:
    with pytest.raises(ValueError, match="at least one key"):
        signed_headers([], EVENT_ID, 0, BODY)


@given(st.binary(min_size=32, max_size=32))
def test_a_secret_stands_for_its_bytes(chance: bytes) -> None:
    secret = new_secret(chance)
    assert secret == "whsec_" + base64.b64encode(chance).decode()
    assert key_of(secret) == chance


@pytest.mark.parametrize("length", [0, 16, 31, 33, 64])
def test_a_secret_is_made_of_32_bytes_and_no_other_number(length: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        new_secret(bytes(length))
    with pytest.raises(ValueError, match="32 bytes"):
        key_of("whsec_" + base64.b64encode(bytes(length)).decode())


MALFORMED = {
    "no prefix": SECRET.removeprefix("whsec_"),
    "another prefix": SECRET.replace("whsec_", "whpk_"),
    "prefix twice": "whsec_" + SECRET,
    "capitals": SECRET.replace("whsec_", "WHSEC_"),
    "no padding": SECRET.rstrip("="),
    "more padding": SECRET + "=",
    "a line end": SECRET + "\n",
    "a space": SECRET[:20] + " " + SECRET[20:],
    "for addresses": "whsec_" + base64.urlsafe_b64encode(b"\xff" * 32).decode(),
    "other spare bits": SECRET[:-2] + "9=",
    "not ASCII": SECRET[:-2] + "é=",
    "half a pair": SECRET[:-2] + "\ud800=",
}


@pytest.mark.parametrize("why", MALFORMED)
def test_a_malformed_secret_is_refused_and_not_shown(why: str) -> None:
    with pytest.raises(ValueError, match="not a webhook secret") as refused:
        key_of(MALFORMED[why])
    shown = "".join(traceback.format_exception(refused.value))
    assert type(refused.value) is ValueError, "a UnicodeError carries what it could not read"
    assert refused.value.args == ("not a webhook secret: whsec_ and the base64 of 32 bytes",)
    assert MALFORMED[why][6:20] not in shown
