"""Real processes of the service on loopback, that can be killed and started again."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pickupbox.settings import Settings
from tests.support.databases import environment_of

START_SECONDS = 30
STOP_SECONDS = 10


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port: int = trial.getsockname()[1]
        return port


class Process:
    """One `pickupbox …` process with everything it starts, its log appended to a file."""

    def __init__(self, arguments: list[str], environment: dict[str, str], log: Path) -> None:
        self._command = [sys.executable, "-m", "pickupbox", *arguments]
        self._environment = environment
        self._log = log
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as written:
            self._running = subprocess.Popen(
                self._command, env=self._environment, stdout=written, stderr=written, start_new_session=True
            )

    def kill(self) -> None:
        """SIGKILL, children included: nothing gets a chance to tidy up."""
        os.killpg(self._running.pid, signal.SIGKILL)
        self._running.wait()

    def stop(self) -> None:
        self._running.terminate()
        try:
            self._running.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self._command} did not stop within {STOP_SECONDS} s") from None

    def wait_until_ready(self, url: str) -> None:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self._running.poll() is None:
            try:
                with urllib.request.urlopen(url, timeout=1):  # noqa: S310 - our own loopback address
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        raise AssertionError(f"{self._command} did not become ready:\n{self._log.read_text()[-2000:]}")


@contextmanager
def api_process(settings: Settings, log: Path, *, workers: int = 1) -> Iterator[str]:
    """The base address of an API that is ready."""
    port = free_port()
    environment = environment_of(settings)
    if workers > 1:
        environment["PICKUPBOX_RATE_LIMIT_URL"] = "redis://127.0.0.1:6379/15"
    process = Process(["api", "--port", str(port), "--workers", str(workers)], environment, log)
    try:
        process.wait_until_ready(f"http://127.0.0.1:{port}/readyz")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.stop()
