"""Mail over TLS with a login, against a real server on another address: encrypted, verified, and clear when refused."""

import gc
import ssl
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from pydantic import SecretStr

from pickupbox.settings import Settings
from pickupbox.usecases.mail import Message, NotSentError
from pickupbox.worker.mail import sender
from tests.devices.broker import pem_of
from tests.support.processes import free_port

ELSEWHERE = "127.0.0.2"  # on loopback, and not where mail goes without TLS
MAIL = Message("mai_1", "ada@firm.test", "Hello", "A text with a link.")


@dataclass
class Post:
    """What came, and how."""

    encrypted: list[bool] = field(default_factory=list)
    texts: list[bytes] = field(default_factory=list)
    logins: list[tuple[bytes, bytes]] = field(default_factory=list)

    async def handle_DATA(self, _: Any, session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd's
        self.encrypted.append(session.ssl is not None)
        self.texts.append(envelope.content)
        return "250 OK"

    def judge(self, _: Any, __: Any, ___: Any, ____: str, login: LoginPassword) -> AuthResult:
        self.logins.append((login.login, login.password))
        return AuthResult(success=login.password == b"right one", handled=False)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for that address, with its key, that nobody has signed but itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mail")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(ELSEWHERE))]), critical=False)
        .sign(key, SHA256())
    )
    file = tmp_path_factory.mktemp("mail") / "mail.pem"
    file.write_bytes(pem_of(key) + made.public_bytes(Encoding.PEM))
    return file


@contextmanager
def serving(certificate: Path, *, from_the_start: bool = False) -> Iterator[tuple[Post, int]]:
    """A mail server that wants a login: over TLS from the start, or after STARTTLS."""
    post, port = Post(), free_port()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    tls = {"ssl_context": context} if from_the_start else {"tls_context": context, "require_starttls": True}
    login = {"authenticator": post.judge, "auth_required": True, "auth_require_tls": not from_the_start}
    with warnings.catch_warnings():
        # aiosmtpd's own: it does not count TLS from the start as TLS, and drops its writer at STARTTLS.
        warnings.filterwarnings("ignore", "Requiring AUTH while not requiring TLS")
        warnings.filterwarnings("ignore", "unclosed <StreamWriter", ResourceWarning)
        controller = Controller(post, hostname=ELSEWHERE, port=port, **login, **tls)
        controller.start()
        try:
            yield post, port
        finally:
            controller.stop()
            gc.collect()


async def send(settings: Settings, url: str) -> None:
    way = sender(settings.model_copy(update={"smtp_url": SecretStr(url)}))
    assert way is not None
    await way(MAIL)


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
async def test_mail_goes_encrypted_to_who_proves_to_be_the_server(
    settings: Settings, certificate: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with serving(certificate, from_the_start=scheme == "smtps") as (post, port):
        await send(settings, f"{scheme}://box:right%20one@{ELSEWHERE}:{port}")
    assert post.logins == [(b"box", b"right one")]
    assert len(post.texts) == 1
    assert scheme == "smtps" or post.encrypted == [True]


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
async def test_a_server_that_cannot_prove_who_it_is_gets_neither_mail_nor_password(
    settings: Settings, certificate: Path, scheme: str
) -> None:
    served = serving(certificate, from_the_start=scheme == "smtps")
    with served as (post, port), pytest.raises(NotSentError) as refused:
        await send(settings, f"{scheme}://box:right%20one@{ELSEWHERE}:{port}")
    assert (post.logins, post.texts) == ([], [])
    assert not refused.value.for_good
    assert "certificate" in str(refused.value)
    assert "SSL_CERT_FILE" in str(refused.value), "it says what to do"


async def test_a_wrong_password_says_which_setting_to_correct_and_not_the_password(
    settings: Settings, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with serving(certificate) as (post, port), pytest.raises(NotSentError) as refused:
        await send(settings, f"smtp://box:xyzzy@{ELSEWHERE}:{port}")
    assert post.texts == []
    assert not refused.value.for_good, "it goes out once the setting is right"
    assert "PICKUPBOX_SMTP_URL" in str(refused.value)
    assert "535" in str(refused.value)
    assert "xyzzy" not in str(refused.value)
