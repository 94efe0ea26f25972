"""The id_token of a provider: taken only if all of it holds."""

import base64
import secrets
import time
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey

from pickupbox.domain.people import ProviderAway
from pickupbox.usecases import openid

KEY = RSAKey.generate_key(2048, {"kid": "one", "alg": "RS256"})
KEYS: dict[str, Any] = dict(KeySet([KEY]).as_dict(private=False))
NOW = time.time()
CLAIMS: dict[str, Any] = {
    "iss": "https://id.test",
    "aud": "us",
    "sub": "s",
    "nonce": "n",
    "exp": NOW + 300,
    "iat": NOW,
    "email": "a@b.test",
}


def checked(token: str) -> dict[str, Any]:
    return openid.verified(token, KEYS, "https://id.test", "us", "n", NOW)


def signed(**other: Any) -> str:
    claims = {name: value for name, value in (CLAIMS | other).items() if value is not None}
    return jwt.encode({"alg": "RS256", "kid": "one"}, claims, KEY)


def test_a_true_id_token_is_taken() -> None:
    assert checked(signed())["email"] == "a@b.test"
    assert checked(signed(aud=["us", "others"], azp="us"))["sub"] == "s"


@pytest.mark.parametrize(
    "other",
    [
        {"iss": "https://elsewhere.test"},
        {"aud": "others"},
        {"aud": None},
        {"aud": ["us", "others"]},
        {"nonce": "another"},
        {"nonce": None},
        {"exp": NOW - 120},
        {"exp": None},
        {"exp": "soon"},
        {"iat": NOW + 600},
        {"sub": None},
    ],
)
def test_an_id_token_that_is_not_meant_for_this_sign_in_is_refused(other: dict[str, Any]) -> None:
    with pytest.raises(ProviderAway):
        checked(signed(**other))


def test_an_id_token_that_somebody_else_signed_is_refused() -> None:
    stranger_key = RSAKey.generate_key(2048, {"kid": "one"})
    shared = OctKey.import_key(secrets.token_bytes(32), {"kid": "one"})
    plain = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    body = signed().split(".")[1]
    for forged in (
        jwt.encode({"alg": "RS256", "kid": "one"}, CLAIMS, stranger_key),
        jwt.encode({"alg": "HS256", "kid": "one"}, CLAIMS, shared),
        f"{plain}.{body}.",
        signed()[:-6] + "AAAAAA",
        "",
        "a.b.c",
    ):
        with pytest.raises(ProviderAway):
            checked(forged)
