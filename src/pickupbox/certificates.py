"""Certificates of devices: the authority that signs them, what it signs, and the list of those it took back.

Pure: time is an argument. Of a box's request only the public key is taken; all else in a certificate is ours.
"""

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = timedelta(days=90)
RENEWAL = timedelta(days=30)  # before the end
AUTHORITY_LIFETIME = timedelta(days=3652)
CLOCKS = timedelta(minutes=5)  # by which the broker's clock may be behind ours
REQUEST_BYTES = 4096
# keyUsage: everything is said or denied.
_NO_USE = dict.fromkeys(
    (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    ),
    False,
)


class RequestRefusedError(Exception):
    """A certificate request that cannot be signed; the text says why."""


@dataclass(frozen=True, slots=True)
class Authority:
    """What signs the certificates of this cell's devices."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    def __repr__(self) -> str:
        return f"Authority({self.certificate.subject.rfc4514_string()})"


@dataclass(frozen=True, slots=True)
class Signed:
    """A new certificate: the chain is PEM, the device's own first."""

    chain: str
    serial: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Identity:
    """What a certificate says of its device."""

    device: str
    serial: str
    until: datetime


def new_authority(name: str, now: datetime) -> str:
    """A fresh authority as it is written in the settings: key and certificate, PEM, base64 in one line."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        _builder(subject, subject, key.public_key(), now, now + AUTHORITY_LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(**_NO_USE | {"key_cert_sign": True, "crl_sign": True}), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, SHA256())
    )
    clear = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return base64.b64encode(clear + certificate.public_bytes(Encoding.PEM)).decode()


def read_authority(text: str) -> Authority:
    """The authority in a setting; says what is wrong without saying any of it."""
    try:
        pem = base64.b64decode(text, validate=True)
        key, certificate = load_pem_private_key(pem, None), x509.load_pem_x509_certificate(pem)
        is_authority = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (ValueError, TypeError, UnsupportedAlgorithm, x509.ExtensionNotFound):
        is_authority = False
    if not is_authority or not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError(
            "an authority is the base64 of a signing key and its certificate; `pickupbox box authority new` makes one"
        )
    if key.public_key() != certificate.public_key():
        raise ValueError("the authority's key and certificate do not belong together")
    return Authority(key, certificate)


def public_key_of(request_pem: str) -> ec.EllipticCurvePublicKey:
    """The key of a PKCS #10 request that was signed with it: ECDSA P-256."""
    if len(request_pem) > REQUEST_BYTES:
        raise RequestRefusedError(f"longer than {REQUEST_BYTES} bytes")
    try:
        request = x509.load_pem_x509_csr(request_pem.encode())
        key = request.public_key()
        signed = request.is_signature_valid
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise RequestRefusedError("not a PKCS #10 request in PEM") from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise RequestRefusedError("its key is not ECDSA P-256")
    if not signed:
        raise RequestRefusedError("not signed with its own key")
    return key


def sign(authority: Authority, device: str, key: ec.EllipticCurvePublicKey, now: datetime) -> Signed:
    """A certificate for the device's key: to be a client, and nothing else."""
    until = min(now + LIFETIME, authority.certificate.not_valid_after_utc).replace(microsecond=0)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, device)])
    certificate = (
        _builder(subject, authority.certificate.subject, key, now, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(**_NO_USE | {"digital_signature": True}), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
        .sign(authority.key, SHA256())
    )
    chain = b"".join(one.public_bytes(Encoding.PEM) for one in (certificate, authority.certificate))
    return Signed(chain.decode(), f"{certificate.serial_number:x}", until)


def read_certificate(chain: str) -> Identity:
    """What the first certificate of a chain says."""
    certificate = x509.load_pem_x509_certificate(chain.encode())
    (name,) = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return Identity(str(name.value), f"{certificate.serial_number:x}", certificate.not_valid_after_utc)


def is_due(until: datetime, now: datetime) -> bool:
    """Whether a certificate that lives until then should be renewed."""
    return until - now <= RENEWAL


def revocation_list(authority: Authority, revoked: Iterable[tuple[str, datetime]], now: datetime) -> str:
    """The list of revoked serials, PEM.

    A broker refuses everyone when its list is out of date, so the list never is: it is as good as the authority.
    """
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(authority.certificate.subject)
        .last_update(now - CLOCKS)
        .next_update(authority.certificate.not_valid_after_utc)
        # Of two lists a broker takes the newer one, by whole seconds; the number tells people which that is.
        .add_extension(x509.CRLNumber(int(now.timestamp() * 1000)), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
    )
    for serial, at in revoked:
        entry = x509.RevokedCertificateBuilder().serial_number(int(serial, 16)).revocation_date(at)
        builder = builder.add_revoked_certificate(entry.build())
    return builder.sign(authority.key, SHA256()).public_bytes(Encoding.PEM).decode()


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, until: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCKS)
        .not_valid_after(until)
    )
