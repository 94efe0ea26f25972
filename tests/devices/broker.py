"""A real Mosquitto with the config of deploy/, on free ports in a folder of its own; it can be killed and restarted.

    with mosquitto(tmp_path) as broker:
        box = broker.certificate_for("dev_c1_…")               # at broker.port, broker.url
        service = broker.certificate_for("pickupbox-service")  # at broker.service_port, broker.service_url

`plain=True` is the same broker without TLS and names, one port for all: for tests of speed.
"""

import getpass
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from pickupbox.certificates import (
    Authority,
    new_authority,
    public_key_of,
    read_authority,
    revocation_list,
    sign,
)
from tests.support.processes import free_port

DEPLOY = Path(__file__).parents[2] / "deploy" / "mosquitto"
SERVICE = "pickupbox-service"
SECONDS = 10
OF_TLS = re.compile(r"(cafile|crlfile|certfile|keyfile|tls_version|require_certificate|use_|acl_file|listener 8884)")


@dataclass(frozen=True, slots=True)
class Certificate:
    """Files of a client: its chain, its key, and the authority of the broker's own certificate."""

    chain: Path
    key: Path
    broker_authority: Path

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.broker_authority)
        context.load_cert_chain(self.chain, self.key)
        return context


class Broker:
    def __init__(self, folder: Path, *, plain: bool) -> None:
        self._folder = folder
        self._plain = plain
        self.port = free_port()
        self.service_port = self.port if plain else free_port()
        scheme = "mqtt" if plain else "mqtts"
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self.service_url = f"{scheme}://127.0.0.1:{self.service_port}"
        self.device_authority = new_authority("Test devices", datetime.now(UTC))  # as it is written in the settings
        self.authority = read_authority(self.device_authority)
        self._service_authority = read_authority(new_authority("Test service", datetime.now(UTC)))
        self._log = folder / "log"
        self._write_files()

    def _write_files(self) -> None:
        (self._folder / "data").mkdir()
        text = (DEPLOY / "pickupbox.conf").read_text()
        for there, here in (
            ("/etc/mosquitto/pickupbox", str(self._folder)),
            ("/var/lib/mosquitto/", f"{self._folder / 'data'}/"),
            ("listener 8883", f"listener {self.port} 127.0.0.1"),
        ):
            assert there in text
            text = text.replace(there, here)
        if self._plain:
            text = "\n".join(line for line in text.splitlines() if not OF_TLS.match(line))
            text = text.replace("allow_anonymous false", "allow_anonymous true")
        text = text.replace("listener 8884", f"listener {self.service_port} 127.0.0.1")
        # Started by root, Mosquitto becomes another user, to whom this folder is closed.
        (self._folder / "mosquitto.conf").write_text(f"{text}\nuser {getpass.getuser()}\n")
        shutil.copy(DEPLOY / "acl", self._folder / "acl")
        (self._folder / "acl").chmod(0o600)
        (self._folder / "devices.crt").write_bytes(self.authority.certificate.public_bytes(Encoding.PEM))
        (self._folder / "service.crt").write_bytes(self._service_authority.certificate.public_bytes(Encoding.PEM))
        # Of a day ago: of two lists with the same time the broker would go on using the first.
        self.write_revocations(revocation_list(self.authority, [], datetime.now(UTC) - timedelta(days=1)))
        key = ec.generate_private_key(ec.SECP256R1())
        (self._folder / "broker.crt").write_bytes(_server_certificate(self._service_authority, key))
        (self._folder / "broker.key").write_bytes(pem_of(key))

    def write_revocations(self, revocations: str) -> None:
        (self._folder / "devices.crl").write_text(revocations)

    def certificate_for(
        self, name: str, *, authority: Authority | None = None, now: datetime | None = None
    ) -> Certificate:
        """A certificate of that name: for the service by its own authority, else by that of the devices."""
        signing = authority or (self._service_authority if name == SERVICE else self.authority)
        key = ec.generate_private_key(ec.SECP256R1())
        signed = sign(signing, name, public_key_of(request_of(key)), now or datetime.now(UTC))
        return self.keep(signed.chain, key)

    def keep(self, chain: str, key: ec.EllipticCurvePrivateKey) -> Certificate:
        """A chain and its key as files of a client."""
        place = self._folder / f"client_{x509.load_pem_x509_certificate(chain.encode()).serial_number:x}"
        place.with_suffix(".crt").write_text(chain)
        place.with_suffix(".key").write_bytes(pem_of(key))
        return Certificate(place.with_suffix(".crt"), place.with_suffix(".key"), self._folder / "service.crt")

    def start(self) -> None:
        command = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
        with self._log.open("ab") as written:
            self._running = subprocess.Popen(
                [command, "-c", str(self._folder / "mosquitto.conf")], stdout=written, stderr=written
            )
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and self._running.poll() is None:
            if _answers(self.port) and _answers(self.service_port):
                return
            time.sleep(0.02)
        raise AssertionError(f"Mosquitto did not start:\n{self.log()}")

    def kill(self) -> None:
        """SIGKILL: what was not saved is lost."""
        self._running.kill()
        self._running.wait(SECONDS)

    def stop(self) -> None:
        if self._running.poll() is None:
            self._running.terminate()
            try:
                self._running.wait(SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError(f"Mosquitto did not stop within {SECONDS} s") from None

    def reload(self) -> None:
        """SIGHUP, and wait until it was heard."""
        before = self.log().count("Reloading config")
        self._running.send_signal(signal.SIGHUP)
        end = time.monotonic() + SECONDS
        while self.log().count("Reloading config") == before:
            assert time.monotonic() < end, "Mosquitto did not hear SIGHUP"
            time.sleep(0.02)

    def log(self) -> str:
        return self._log.read_text(errors="replace")


@contextmanager
def mosquitto(folder: Path, *, plain: bool = False) -> Iterator[Broker]:
    """A broker that answers, in a new folder below the one given."""
    place = folder / f"mosquitto_{free_port()}"
    place.mkdir(parents=True)
    broker = Broker(place, plain=plain)
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


def request_of(key: ec.EllipticCurvePrivateKey, name: str = "as the box likes") -> str:
    """A PKCS #10 request, as a box makes it."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, SHA256())
    return request.public_bytes(Encoding.PEM).decode()


def pem_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _server_certificate(authority: Authority, key: ec.EllipticCurvePrivateKey) -> bytes:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "broker")]))
        .issuer_name(authority.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
        .sign(authority.key, SHA256())
        .public_bytes(Encoding.PEM)
    )


def _answers(port: int) -> bool:
    with socket.socket() as trial:
        trial.settimeout(1)
        return trial.connect_ex(("127.0.0.1", port)) == 0
