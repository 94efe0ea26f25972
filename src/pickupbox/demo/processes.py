"""The demo's processes: every kind of a deployment, and a virtual box for each seeded one."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from pickupbox.demo.seeding import DemoError, Seeded, SeededBox

START_SECONDS = 30
STOP_SECONDS = 8

type Process = subprocess.Popen[bytes]


def broker_answers(mqtt_url: str) -> bool:
    parts = urlsplit(mqtt_url)
    try:
        with socket.create_connection((parts.hostname or "127.0.0.1", parts.port or 1883), timeout=2):
            return True
    except OSError:
        return False


def take_port(port: int) -> None:
    """Raises DemoError if something else listens there."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            raise DemoError(f"Port {port} is taken: stop what listens there, or choose another with --port.") from None


def folder_of(port: int, *, fresh: bool) -> Path:
    """Where the virtual boxes keep their journals from one start to the next, as real ones do."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    folder = state / "pickupbox" / f"demo_{port}"
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def page_ports(port: int, count: int) -> list[int]:
    """A port for each page: those behind the API's, where they are free; the last is the administration's."""
    ports: list[int] = []
    for wanted in range(port + 1, port + 1 + count):
        with socket.socket() as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind(("127.0.0.1", wanted))
            except (OSError, OverflowError):
                trial.bind(("127.0.0.1", 0))
            ports.append(trial.getsockname()[1])
    return ports


@contextmanager
def running(
    seeded: Seeded, port: int, admin_port: int, pages: Sequence[int], folder: Path
) -> Iterator[Sequence[Process]]:
    """All processes, until the end of the block; API and administration are ready. A gateway and boxes only where there
    are pages of boxes."""
    quiet = {"PICKUPBOX_LOG_LEVEL": "warning"} | os.environ | seeded.variables
    quiet["PICKUPBOX_ADMIN_URL"] = f"http://127.0.0.1:{admin_port}"
    served = {"api": port, "admin": admin_port}
    commands = [*([name, "--port", str(at)] for name, at in served.items()), ["worker"]]
    if pages:
        commands.append(["gateway"])
    children: list[Process] = []
    try:
        for command in commands:
            children.append(_start(["pickupbox", *command], quiet))  # noqa: PERF401 - if one fails, the others are known
        for box, page in zip(seeded.boxes, pages, strict=False):
            own = quiet | _box_variables(box, seeded, folder)
            children.append(_start(["pickupbox.box", "run", "--page", str(page)], own, stdout=subprocess.DEVNULL))
        for name, at in served.items():
            _wait_until_ready(name, f"http://127.0.0.1:{at}/readyz", children)
        yield children
    finally:
        _stop(children)


def _start(module: Sequence[str], environment: Mapping[str, str], stdout: int | None = None) -> Process:
    command = [sys.executable, "-m", *module]
    return subprocess.Popen(command, env=environment, stdout=stdout, start_new_session=True)  # noqa: S603


def _box_variables(box: SeededBox, seeded: Seeded, folder: Path) -> dict[str, str]:
    return {
        "PICKUPBOX_BOX_DEVICE": box.device,
        "PICKUPBOX_BOX_COMPARTMENTS": ",".join(box.compartments),
        "PICKUPBOX_BOX_JOURNAL": str(folder / f"{box.device}.sqlite"),
        "PICKUPBOX_BOX_MQTT_URL": seeded.settings.mqtt_url,
    }


def _wait_until_ready(name: str, url: str, children: Sequence[Process]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if any(child.poll() is not None for child in children):
            break
        try:
            with urllib.request.urlopen(url, timeout=1) as response:  # noqa: S310 - our own loopback address
                if response.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise DemoError(f"`pickupbox {name}` did not become ready; its last words are above.")


def _stop(children: Sequence[Process]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for child in children:
        child.terminate()
    end = time.monotonic() + STOP_SECONDS
    for child in children:
        try:
            child.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
