"""Signatures of webhooks, as Standard Webhooks has them: secrets, keys, and the headers of one delivery."""

from base64 import b64encode
from binascii import Error as NotBase64
from binascii import a2b_base64, b2a_base64
from collections.abc import Sequence
from hmac import digest

PREFIX = "whsec_"
KEY_BYTES = 32


def new_secret(chance: bytes) -> str:
    """The secret made of 32 random bytes, as the shop gets to see it once."""
    if len(chance) != KEY_BYTES:
        raise ValueError(f"a secret is made of {KEY_BYTES} bytes")
    return PREFIX + b64encode(chance).decode()


def key_of(secret: str) -> bytes:
    """The key that a secret stands for. The refusal never repeats the secret: it may end in a log."""
    try:
        key = a2b_base64(secret.removeprefix(PREFIX), strict_mode=True)
    except (NotBase64, ValueError):
        key = b""
    # Written again and compared: base64 has several spellings of the same bytes, and one is ours.
    if len(key) != KEY_BYTES or new_secret(key) != secret:
        raise ValueError(f"not a webhook secret: {PREFIX} and the base64 of {KEY_BYTES} bytes")
    return key


def signed_headers(keys: Sequence[bytes], event_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The six headers of a delivery: ours, and the same under the names that stock verifiers read.

    One signature per key, the current key's first: during a rotation the old secret still verifies.
    """
    if not keys:
        raise ValueError("a delivery is signed with at least one key")
    sent_at = str(timestamp)
    signed = f"{event_id}.{sent_at}.".encode() + body
    signature = " ".join(
        ["v1," + b2a_base64(digest(key, signed, "sha256"), newline=False).decode("ascii") for key in keys]
    )
    return {
        "Service-Event-Id": event_id,
        "Service-Timestamp": sent_at,
        "Service-Signature": signature,
        "webhook-id": event_id,
        "webhook-timestamp": sent_at,
        "webhook-signature": signature,
    }
