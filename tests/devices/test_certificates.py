"""Certificates: what the authority signs, what it takes from a request, and what it takes back."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from pydantic import ValidationError

from pickupbox.certificates import (
    Authority,
    RequestRefusedError,
    is_due,
    new_authority,
    public_key_of,
    read_authority,
    read_certificate,
    revocation_list,
    sign,
)
from pickupbox.settings import Settings
from pickupbox.vault import new_secret
from tests.devices.broker import pem_of, request_of

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DEVICE = "dev_c1_" + "a" * 32
SETTING = new_authority("Test devices", NOW)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return read_authority(SETTING)


@pytest.fixture(scope="module")
def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def leaf(chain: str) -> x509.Certificate:
    return x509.load_pem_x509_certificates(chain.encode())[0]


def test_a_certificate_carries_the_device_and_lives_90_days(
    authority: Authority, key: ec.EllipticCurvePrivateKey
) -> None:
    signed = sign(authority, DEVICE, key.public_key(), NOW)
    said = read_certificate(signed.chain)
    assert (said.device, said.serial, said.until) == (DEVICE, signed.serial, signed.until)
    assert said.until == NOW + timedelta(days=90)
    assert leaf(signed.chain).not_valid_before_utc <= NOW


def test_the_chain_is_the_devices_own_and_the_authority_that_signed_it(
    authority: Authority, key: ec.EllipticCurvePrivateKey
) -> None:
    own, root = x509.load_pem_x509_certificates(sign(authority, DEVICE, key.public_key(), NOW).chain.encode())
    own.verify_directly_issued_by(root)
    assert root == authority.certificate
    assert own.public_key() == key.public_key()


def test_of_a_request_only_the_key_is_taken(authority: Authority, key: ec.EllipticCurvePrivateKey) -> None:
    greedy = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pickupbox-service")]))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("broker.example")]), critical=False)
        .sign(key, SHA256())
    )
    asked = greedy.public_bytes(Encoding.PEM).decode()
    made = leaf(sign(authority, DEVICE, public_key_of(asked), NOW).chain)
    assert [name.value for name in made.subject] == [DEVICE]
    said = {type(extension.value): extension for extension in made.extensions}
    assert said.keys() == {x509.BasicConstraints, x509.KeyUsage, x509.ExtendedKeyUsage, x509.AuthorityKeyIdentifier}
    assert said[x509.BasicConstraints].value == x509.BasicConstraints(ca=False, path_length=None)
    assert said[x509.ExtendedKeyUsage].value == x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    assert not said[x509.KeyUsage].value.key_cert_sign


def with_a_changed_signature(key: ec.EllipticCurvePrivateKey) -> str:
    der = bytearray(x509.load_pem_x509_csr(request_of(key).encode()).public_bytes(Encoding.DER))
    der[-1] ^= 1
    return f"-----BEGIN CERTIFICATE REQUEST-----\n{base64.b64encode(der).decode()}\n-----END CERTIFICATE REQUEST-----\n"


@pytest.mark.parametrize("text", ["", "hello", "é" * 100, "x" * 5000, "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n"])
def test_what_is_no_request_is_refused(text: str) -> None:
    with pytest.raises(RequestRefusedError):
        public_key_of(text)


def test_a_request_that_its_own_key_did_not_sign_is_refused(key: ec.EllipticCurvePrivateKey) -> None:
    with pytest.raises(RequestRefusedError, match="signed"):
        public_key_of(with_a_changed_signature(key))


@pytest.mark.parametrize(
    "other",
    [
        ec.generate_private_key(ec.SECP384R1()),
        rsa.generate_private_key(65537, 2048),
        ed25519.Ed25519PrivateKey.generate(),
    ],
    ids=["P-384", "RSA", "Ed25519"],
)
def test_another_kind_of_key_is_refused(
    other: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey,
) -> None:
    empty = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    request = empty.sign(other, None if isinstance(other, ed25519.Ed25519PrivateKey) else SHA256())
    with pytest.raises(RequestRefusedError, match="P-256"):
        public_key_of(request.public_bytes(Encoding.PEM).decode())


def test_no_certificate_outlives_its_authority(authority: Authority, key: ec.EllipticCurvePrivateKey) -> None:
    end = authority.certificate.not_valid_after_utc
    assert sign(authority, DEVICE, key.public_key(), end - timedelta(days=10)).until == end


def test_no_two_certificates_have_one_serial(authority: Authority, key: ec.EllipticCurvePrivateKey) -> None:
    assert len({sign(authority, DEVICE, key.public_key(), NOW).serial for _ in range(20)}) == 20


def test_a_certificate_is_renewed_from_30_days_before_its_end() -> None:
    until = NOW + timedelta(days=90)
    assert not is_due(until, until - timedelta(days=30, seconds=1))
    assert is_due(until, until - timedelta(days=30))
    assert is_due(until, until + timedelta(days=1))


def test_the_list_names_what_was_revoked_and_is_the_authoritys_own(
    authority: Authority, key: ec.EllipticCurvePrivateKey
) -> None:
    serials = [sign(authority, DEVICE, key.public_key(), NOW).serial for _ in range(2)]
    written = x509.load_pem_x509_crl(revocation_list(authority, [(serials[0], NOW)], NOW).encode())
    assert [entry.serial_number for entry in written] == [int(serials[0], 16)]
    assert written.is_signature_valid(authority.certificate.public_key())
    assert written.issuer == authority.certificate.subject


def test_a_list_that_nobody_renews_locks_nobody_out(authority: Authority) -> None:
    """A broker refuses every box when its list is past its next update."""
    written = x509.load_pem_x509_crl(revocation_list(authority, [], NOW).encode())
    assert written.next_update_utc == authority.certificate.not_valid_after_utc


def test_a_newer_list_says_so(authority: Authority) -> None:
    lists = [revocation_list(authority, [], NOW + timedelta(seconds=later)) for later in (0, 1)]
    first, second = (x509.load_pem_x509_crl(one.encode()) for one in lists)
    assert first.last_update_utc < second.last_update_utc


def settings(**values: str) -> Settings:
    return Settings.model_validate({"environment": "sandbox", "secrets": new_secret("k1"), **values})


def foreign_key() -> str:
    """A key, and a certificate of another."""
    certificate = base64.b64decode(SETTING).split(b"-----END PRIVATE KEY-----\n")[1]
    return base64.b64encode(pem_of(ec.generate_private_key(ec.SECP256R1())) + certificate).decode()


def no_authority() -> str:
    """A key with a certificate that may sign nothing."""
    key = ec.generate_private_key(ec.SECP256R1())
    chain = sign(read_authority(SETTING), DEVICE, key.public_key(), NOW).chain
    return base64.b64encode(pem_of(key) + chain.encode()).decode()


@pytest.mark.parametrize(
    "wrong",
    [
        "xyzzy",
        SETTING[:-8],
        base64.b64encode(b"xyzzy").decode(),
        base64.b64encode(base64.b64decode(SETTING)[:200]).decode(),
        foreign_key(),
        no_authority(),
    ],
    ids=["text", "cut", "no PEM", "half", "foreign key", "no authority"],
)
def test_a_wrong_authority_is_refused_and_never_repeated(wrong: str) -> None:
    with pytest.raises(ValidationError) as refused:
        settings(device_authority=wrong)
    assert refused.value.errors()[0]["loc"] == ("device_authority",)
    assert wrong[:20] not in str(refused.value)
    assert "authority" in refused.value.errors()[0]["msg"]


def test_the_signing_key_is_in_no_picture_of_the_settings_or_the_authority() -> None:
    made = settings(device_authority=SETTING)
    for shown in (repr(made), str(made), made.model_dump_json(), repr(made.authority())):
        assert SETTING[:40] not in shown
        assert "PRIVATE" not in shown


def test_a_process_of_our_own_gets_the_authority_too(monkeypatch: pytest.MonkeyPatch) -> None:
    made = settings(device_authority=SETTING)
    assert made.variables()["PICKUPBOX_DEVICE_AUTHORITY"] == SETTING
    without = settings()
    assert "PICKUPBOX_DEVICE_AUTHORITY" not in without.variables()
    for name, value in made.variables().items():
        monkeypatch.setenv(name, value)
    assert Settings.model_validate({}) == made
