"""Receivers that misbehave, on real sockets, and certificates for them."""

import asyncio
import contextlib
import datetime
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

Conversation = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Receiver:
    port: int = 0
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


@contextlib.asynccontextmanager
async def receiver(
    talk: Conversation, *, address: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Receiver]:
    """A server that counts its connections and lets `talk` do the rest."""
    seen = Receiver()
    under_way: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1
        under_way.add(asyncio.current_task())
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await talk(reader, writer)
        writer.transport.abort() if writer.is_closing() else writer.close()

    server = await asyncio.start_server(serve, address, port, ssl=tls)
    seen.port = server.sockets[0].getsockname()[1]
    try:
        yield seen
    finally:
        server.close()
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """A whole request: its headers and a body of the length that they name."""
    head = await reader.readuntil(b"\r\n\r\n")
    (length,) = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return head + await reader.readexactly(int(length))


def answering(*answers: bytes) -> Conversation:
    """Reads a request and sends these bytes, as often as it is asked; then waits for the other side to leave."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await read_request(reader)
            for answer in answers:
                writer.write(answer)
                await writer.drain()

    return talk


@dataclass
class Flood:
    url: str
    go_on: threading.Event
    thread: threading.Thread


@contextlib.asynccontextmanager
async def flood(start: bytes, block: bytes, blocks: int, *, at_once: bool = True) -> AsyncIterator[Flood]:
    """Sends `start`, then `block` over and over, from a thread that keeps nothing: what is measured is the client."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(20)
    go_on = threading.Event()

    def serve() -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(20)
                connection.recv(65536)
                connection.sendall(start)
                go_on.wait(20)
                for _ in range(blocks):
                    connection.sendall(block)
                connection.recv(1)

    thread = threading.Thread(target=serve)
    thread.start()
    if at_once:
        go_on.set()
    try:
        yield Flood(f"http://127.0.0.1:{listener.getsockname()[1]}/hook", go_on, thread)
    finally:
        go_on.set()
        await asyncio.to_thread(thread.join, 25)
        listener.close()


class Names(AbstractResolver):
    """Names as a hostile name server has them: each lookup takes the next list of addresses, the last one stays."""

    def __init__(self, answers: dict[str, list[list[str]]], *, others: list[str] | None = None) -> None:
        self._answers = answers
        self._others = others
        self.lookups: dict[str, int] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        at = self.lookups.get(host, 0)
        self.lookups[host] = at + 1
        lists = self._answers.get(host)
        addresses = lists[min(at, len(lists) - 1)] if lists else self._others
        if addresses is None:
            raise OSError(None, "Domain name not found")
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)
            for address in addresses
        ]

    async def close(self) -> None:
        pass


class SlowNames(aiohttp.ThreadedResolver):
    """A name server that never answers."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        await asyncio.Event().wait()
        return []


def certificate(folder: Path, *names: str) -> tuple[Path, ssl.SSLContext]:
    """A certificate for these names that only trusts itself: the file that a client would have to trust, and the
    server's side."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a receiver")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(each) for each in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    trusted, private = folder / "trusted.pem", folder / "private.pem"
    trusted.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trusted, private)
    return trusted, context
