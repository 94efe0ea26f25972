"""The example shop in a process of its own, that can be killed and started again."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.browser.offices import Street
from tests.readme.demos import without_settings
from tests.shops.endpoints import SECONDS, told
from tests.style.sources import ROOT
from tests.support.processes import free_port

FOLDER = ROOT / "examples" / "shop"


class Leaf:
    def __init__(self, street: Street, port: int, secret: str, folder: Path) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.secret = secret
        self.database = folder / "shop.sqlite3"
        self.log = folder / "log"
        self.environment = without_settings() | {
            "BASE_URL": street.said["base_url"],
            "API_KEY": street.said["api_key"],
            "WEBHOOK_SECRET": secret,
            "SHOP_DATABASE": str(self.database),
            "PORT": str(port),
        }
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._running = subprocess.Popen(
                [sys.executable, "-m", "shop"], cwd=FOLDER, env=self.environment, stdout=log, stderr=log
            )
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                httpx.get(self.url, timeout=5).raise_for_status()
            except httpx.TransportError:
                assert self._running.poll() is None, self.log.read_text()
                time.sleep(0.05)
            else:
                return
        self.kill()
        raise AssertionError(self.log.read_text())

    def kill(self) -> None:
        os.kill(self._running.pid, signal.SIGKILL)
        self._running.wait(SECONDS)

    def packing(self) -> str:
        """What the shop's own people read."""
        command = [sys.executable, "-m", "shop", "packing"]
        done = subprocess.run(
            command, cwd=FOLDER, env=self.environment, check=True, capture_output=True, text=True, timeout=SECONDS
        )
        return done.stdout


@contextmanager
def a_shop(street: Street, folder: Path) -> Iterator[Leaf]:
    port = free_port()
    with told(street, f"http://127.0.0.1:{port}/webhooks") as secret:
        shop = Leaf(street, port, secret, folder)
        try:
            yield shop
        finally:
            shop.kill()
