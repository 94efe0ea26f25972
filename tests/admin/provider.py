"""A firm's OpenID Connect provider: a real process on a port of its own, and a person who signs in there."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qsl, urlsplit

import httpx

CLIENT_ID = "pickupbox"
CLIENT_SECRET = "known to both"


class Provider:
    def __init__(self, port: int) -> None:
        self.issuer = f"http://127.0.0.1:{port}"

    def knows(self, subject: str, **claims: object) -> None:
        """What it says about a person from now on."""
        httpx.put(f"{self.issuer}/users/{subject}", json=claims).raise_for_status()

    def sign_in(self, url: str, subject: str) -> dict[str, str]:
        """Somebody signs in where we sent them; what they bring back."""
        answer = httpx.post(url, data={"sub": subject})
        assert answer.status_code == 302, answer.text
        return dict(parse_qsl(urlsplit(answer.headers["location"]).query))

    def refuse(self, url: str) -> dict[str, str]:
        answer = httpx.post(url, data={"action": "deny"})
        return dict(parse_qsl(urlsplit(answer.headers["location"]).query))


@contextmanager
def running() -> Iterator[Provider]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.admin.strict_provider", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(port, process)
        yield Provider(port)
    finally:
        process.terminate()
        process.wait(10)


def _wait(port: int, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(200):
        assert process.poll() is None, "the provider ended"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError("the provider does not listen")
