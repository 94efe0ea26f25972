"""The yard: a street whose boxes have devices, with a broker of its own, and one process at a time that listens."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.street import Street, run_sql, street
from pickupbox.settings import Settings
from tests.devices.broker import mosquitto

START_SECONDS = 30
GATEWAY = (["-m", "pickupbox", "gateway"], "gateway_connected")


@dataclass(frozen=True, slots=True)
class Yard:
    street: Street
    settings: Settings  # with the way to the broker
    port: int
    broker: int  # its process

    def devices(self) -> list[str]:
        return [device_of(box) for box in self.street.boxes]


def device_of(box_id: str) -> str:
    return box_id.replace("box_", "dev_", 1)


@contextmanager
def yard(boxes: int, compartments: int) -> Iterator[Yard]:
    """Broker without TLS: the machine's cores are for what is measured, on both sides."""
    with (
        tempfile.TemporaryDirectory() as folder,
        mosquitto(Path(folder), plain=True) as broker,
        street(boxes, compartments) as made,
    ):
        run_sql(
            made.settings,
            "INSERT INTO devices (tenant_id, id, box_id) SELECT tenant_id, replace(id, 'box_', 'dev_'), id FROM boxes",
            "VACUUM ANALYZE devices",
        )
        settings = made.settings.model_copy(update={"mqtt_url": broker.url})
        yield Yard(made, settings, broker.port, broker._running.pid)


@contextmanager
def listening(yard: Yard, arguments: list[str], sign: str) -> Iterator[int]:
    """A Python process with the yard's settings, from when it writes the sign that it listens; its number."""
    environment = {**os.environ, **yard.settings.variables()}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen([sys.executable, *arguments], env=environment, stdout=log, stderr=log)
        try:
            _wait_for(sign, log.fileno(), process)
            yield process.pid
        finally:
            process.terminate()
            process.wait(15)


def _wait_for(sign: str, log: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if sign.encode() in os.pread(log, 1_000_000, 0):
            return
        time.sleep(0.05)
    raise RuntimeError(f"{process.args} does not listen: {os.pread(log, 2000, 0).decode(errors='replace')}")
