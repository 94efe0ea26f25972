"""Debian's WordPress on a MariaDB of its own, with our plugin, served by PHP; a stand-in takes WooCommerce's place."""

import getpass
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
from aiosmtpd.controller import Controller

from tests.browser.offices import Mail
from tests.readme.demos import without_settings
from tests.style.sources import ROOT
from tests.support.processes import free_port

WORDPRESS = Path("/usr/share/wordpress")  # `.ci/services` puts it there
PLUGIN = ROOT / "examples" / "woocommerce" / "pickupbox"
OURS = Path(__file__).parent / "wordpress"
PASSWORD = "correct horse battery staple"
SECONDS = 30.0


class Press:
    """The shop of a WooCommerce developer."""

    def __init__(self, folder: Path, port: int, mail: Mail, mail_port: int) -> None:
        self.folder = folder
        self.url = f"http://127.0.0.1:{port}"
        self.mail = mail
        # What PHP has compiled is kept: WordPress is large, and each command starts anew.
        self.php = ["php", "-d", "opcache.enable_cli=1", "-d", f"opcache.file_cache={folder / 'compiled'}"]
        self.environment = without_settings() | {
            "USER": getpass.getuser(),
            "SHOP_PORT": str(port),
            "MAIL_PORT": str(mail_port),
            "PHP_CLI_SERVER_WORKERS": "3",
        }

    @property
    def webhooks(self) -> str:
        return f"{self.url}/wp-json/pickupbox/v1/webhooks"

    def do(self, command: str, *arguments: object) -> Any:
        """One command of shop.php."""
        line = [*self.php, str(OURS / "shop.php"), str(self.folder), command, *map(str, arguments)]
        done = subprocess.run(line, env=self.environment, capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stdout[-300:] + done.stderr + self.complaints()
        return json.loads(done.stdout)

    def complaints(self) -> str:
        """What PHP had to say."""
        log = self.folder / "debug.log"
        return log.read_text() if log.exists() else ""


@contextmanager
def a_press(folder: Path) -> Iterator[Press]:
    shutil.copytree(WORDPRESS, folder, symlinks=True, dirs_exist_ok=True)
    shutil.copytree(PLUGIN, folder / "wp-content" / "plugins" / "pickupbox")
    (folder / "wp-content" / "plugins" / "woocommerce").mkdir()
    shutil.copy(OURS / "woocommerce.php", folder / "wp-content" / "plugins" / "woocommerce")
    shutil.copy(OURS / "wp-config.php", folder)
    (folder / "compiled").mkdir()
    mail = Mail()
    server = Controller(mail, hostname="127.0.0.1", port=free_port())
    press = Press(folder, free_port(), mail, server.port)
    with ExitStack() as running:
        server.start()
        running.callback(server.stop)
        running.enter_context(_mariadb(folder))
        press.do("install", PASSWORD)
        running.enter_context(_php(press))
        yield press


@contextmanager
def _mariadb(folder: Path) -> Iterator[None]:
    path, user = os.environ["PATH"] + ":/usr/sbin", getpass.getuser()
    environment = {**os.environ, "PATH": path}
    data, socket = folder / "mariadb", folder / "mariadb.sock"
    made = [f"--datadir={data}", f"--user={user}", "--skip-test-db", "--auth-root-authentication-method=normal"]
    command = [shutil.which("mariadb-install-db") or "mariadb-install-db", "--no-defaults", *made]
    subprocess.run(command, env=environment, capture_output=True, check=True, timeout=SECONDS)
    (folder / "init.sql").write_text("CREATE DATABASE IF NOT EXISTS wordpress;\n")
    options = [f"--datadir={data}", f"--socket={socket}", f"--user={user}", f"--init-file={folder / 'init.sql'}"]
    options += ["--skip-networking", "--innodb-flush-log-at-trx-commit=0", f"--log-error={folder / 'mariadb.log'}"]
    command = [shutil.which("mariadbd", path=path) or "mariadbd", "--no-defaults", *options]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        _wait(socket.exists, server)
        yield
    finally:
        server.kill()
        server.wait(SECONDS)


@contextmanager
def _php(press: Press) -> Iterator[None]:
    address = press.url.removeprefix("http://")
    command = [*press.php, "-S", address, "-t", str(press.folder)]
    with (press.folder / "php.log").open("wb") as log:
        server = subprocess.Popen(command, env=press.environment, stdout=log, stderr=log, start_new_session=True)
    try:
        _wait(lambda: _answers(press.url), server)
        yield
    finally:
        os.killpg(server.pid, signal.SIGTERM)  # its workers too
        server.wait(SECONDS)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/wp-json/", timeout=SECONDS).is_success
    except httpx.TransportError:
        return False


def _wait(sign: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + SECONDS
    while not sign():
        assert process.poll() is None, f"{process.args!r} ended"
        assert time.monotonic() < end, f"{process.args!r} did not get ready"
        time.sleep(0.05)
