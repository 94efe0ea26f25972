"""What must not rest in the clear: PINs, webhook keys, second factors, mail and providers' secrets are sealed with
AES-256-GCM, PINs are looked up by a keyed HMAC; of API keys and device codes only an HMAC is kept. The secrets live
outside the database and can be rotated: the first one is current, the one behind it still opens what it sealed."""

import base64
import hmac
import os
from dataclasses import dataclass
from functools import cached_property

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


@dataclass(frozen=True)
class Secret:
    id: str
    root: bytes

    def __repr__(self) -> str:
        return f"Secret({self.id})"

    def _derive(self, purpose: str) -> bytes:
        return HKDF(SHA256(), length=32, salt=None, info=f"pickupbox {purpose}".encode()).derive(self.root)

    @cached_property
    def cipher(self) -> AESGCM:
        return AESGCM(self._derive("pin seal"))

    @cached_property
    def webhook_cipher(self) -> AESGCM:
        return AESGCM(self._derive("webhook seal"))

    @cached_property
    def people_cipher(self) -> AESGCM:
        return AESGCM(self._derive("people seal"))

    @cached_property
    def gateway_group(self) -> str:
        return self._derive("gateway group").hex()[:32]

    @cached_property
    def lookup_key(self) -> bytes:
        return self._derive("pin lookup")

    @cached_property
    def api_key_key(self) -> bytes:
        return self._derive("api key")

    @cached_property
    def device_code_key(self) -> bytes:
        return self._derive("device code")

    @cached_property
    def verifier_key(self) -> bytes:
        return self._derive("pin verifier")

    @cached_property
    def page_key(self) -> bytes:
        return self._derive("admin page")


@dataclass(frozen=True, slots=True)
class Sealed:
    """What was sealed, as it rests: which secret sealed it, and the sealed bytes."""

    secret_id: str
    sealed: bytes


class Vault:
    def __init__(self, secrets: list[Secret]) -> None:
        if not 1 <= len(secrets) <= 2:
            raise ValueError("there is one secret, or two during a rotation")
        self._secrets = {secret.id: secret for secret in secrets}
        self.current = secrets[0]
        self._before = secrets[1] if len(secrets) == 2 else None

    def seal_pin(self, tenant: str, shipment_id: str, pin: str) -> Sealed:
        return Sealed(self.current.id, _seal(self.current.cipher, pin.encode(), _belongs_to(tenant, shipment_id)))

    def open_pin(self, tenant: str, shipment_id: str, pin: Sealed) -> str:
        return _open(self._secrets[pin.secret_id].cipher, pin.sealed, _belongs_to(tenant, shipment_id)).decode()

    def seal_webhook_key(self, tenant: str, endpoint_id: str, key: bytes) -> Sealed:
        return Sealed(self.current.id, _seal(self.current.webhook_cipher, key, _belongs_to(tenant, endpoint_id)))

    def open_webhook_key(self, tenant: str, endpoint_id: str, key: Sealed) -> bytes:
        return _open(self._secrets[key.secret_id].webhook_cipher, key.sealed, _belongs_to(tenant, endpoint_id))

    def seal_for_people(self, tenant: str, row: str, clear: bytes) -> Sealed:
        """A second factor, a mail or a provider's secret; `row` says which, and never means two of them."""
        return Sealed(self.current.id, _seal(self.current.people_cipher, clear, _belongs_to(tenant, row)))

    def open_for_people(self, tenant: str, row: str, sealed: Sealed) -> bytes:
        return _open(self._secrets[sealed.secret_id].people_cipher, sealed.sealed, _belongs_to(tenant, row))

    def pin_lookup(self, box_id: str, pin: str) -> bytes:
        return _pin_hmac(self.current, box_id, pin)

    def pin_lookups(self, box_id: str, pin: str) -> list[bytes]:
        """One per secret that is in use, the current one first."""
        before = self.pin_lookup_before(box_id, pin)
        return [self.pin_lookup(box_id, pin)] if before is None else [self.pin_lookup(box_id, pin), before]

    def pin_lookup_before(self, box_id: str, pin: str) -> bytes | None:
        """The lookup under the other secret, while a rotation is under way."""
        return _pin_hmac(self._before, box_id, pin) if self._before else None

    def gateway_group(self) -> str:
        """A name for gateways to share their messages under. A box that knew it could join them and swallow some.

        The first that was ever given is kept: under two names each message would be taken twice.
        """
        return self.current.gateway_group

    def api_key_hmac(self, api_key: str) -> bytes:
        return _key_hmac(self.current, api_key)

    def api_key_hmacs(self, api_key: str) -> tuple[bytes, ...]:
        """One per secret that is in use, the current one first."""
        current = _key_hmac(self.current, api_key)
        return (current, _key_hmac(self._before, api_key)) if self._before else (current,)

    def verifier_key(self, device_id: str) -> bytes:
        """By which this device knows its live PINs while it is alone. It is told the key with each roster."""
        return hmac.digest(self.current.verifier_key, device_id.encode(), "sha256")

    def page_token(self, about: bytes) -> str:
        """Proof that a page of ours spoke of it: a session's forms, a notice for the next page."""
        return _page_token(self.current, about)

    def is_page_token(self, about: bytes, token: str) -> bool:
        """Whether a page of ours spoke of it, under any secret in use: one may have been opened before a rotation."""
        sent, secrets = token.encode(), self._secrets.values()
        return any(hmac.compare_digest(_page_token(secret, about).encode(), sent) for secret in secrets)

    def device_code_hmac(self, device_id: str, code: str) -> bytes:
        return _code_hmac(self.current, device_id, code)

    def is_device_code(self, device_id: str, code: str, kept: bytes) -> bool:
        """Whether it is the code of which that was kept, under any secret in use."""
        secrets = self._secrets.values()
        return any(hmac.compare_digest(_code_hmac(secret, device_id, code), kept) for secret in secrets)


def _seal(cipher: AESGCM, clear: bytes, bound_to: bytes) -> bytes:
    nonce = os.urandom(12)
    return nonce + cipher.encrypt(nonce, clear, bound_to)


def _open(cipher: AESGCM, sealed: bytes, bound_to: bytes) -> bytes:
    return cipher.decrypt(sealed[:12], sealed[12:], bound_to)


def _belongs_to(tenant: str, row: str) -> bytes:
    """Bound into the seal, so that what is copied to another row does not open."""
    return f"{tenant}/{row}".encode()


def _pin_hmac(secret: Secret, box_id: str, pin: str) -> bytes:
    return hmac.digest(secret.lookup_key, f"{box_id}/{pin}".encode(), "sha256")[:16]


def _key_hmac(secret: Secret, api_key: str) -> bytes:
    return hmac.digest(secret.api_key_key, api_key.encode(), "sha256")


def _code_hmac(secret: Secret, device_id: str, code: str) -> bytes:
    return hmac.digest(secret.device_code_key, f"{device_id}/{code}".encode(), "sha256")


def _page_token(secret: Secret, about: bytes) -> str:
    return hmac.digest(secret.page_key, about, "sha256").hex()


def new_secret(secret_id: str) -> str:
    """A fresh secret as it is written in the settings."""
    return f"{secret_id}:{base64.b64encode(os.urandom(32)).decode()}"


def read_secrets(text: str) -> list[Secret]:
    """Secrets from `id:base64,id:base64`; says what is wrong without saying the secret."""
    secrets = []
    for part in text.split(","):
        secret_id, colon, encoded = part.strip().partition(":")
        try:
            root = base64.b64decode(encoded, validate=True)
        except ValueError:
            root = b""
        if not colon or not secret_id.isalnum() or len(root) != 32:
            raise ValueError("a secret is written id:base64 of 32 bytes; `pickupbox secret new` makes one")
        secrets.append(Secret(secret_id, root))
    if len({secret.id for secret in secrets}) != len(secrets):
        raise ValueError("two secrets have the same id")
    if len(secrets) > 2:
        raise ValueError("at most two secrets: the current one, and the one before it during a rotation")
    return secrets
