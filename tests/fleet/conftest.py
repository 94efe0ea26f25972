"""A sandbox for a small fleet: broker, gateway, worker and API, all real, each a process of its own."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from pydantic import SecretStr

from pickupbox.settings import Settings
from tests.devices.broker import mosquitto
from tests.support.databases import environment_of, own_database
from tests.support.processes import Process, api_process


@dataclass(frozen=True)
class Sandbox:
    settings: Settings
    base_url: str


@pytest.fixture(scope="package")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    folder = tmp_path_factory.mktemp("fleet")
    with mosquitto(folder, plain=True) as broker, own_database() as made:
        own = {
            "mqtt_url": broker.url,
            "device_authority": SecretStr(broker.device_authority),
            "database_pool": 5,
        }
        settings = made.model_copy(update=own)
        kinds = ("gateway", "worker")
        processes = [Process([kind], environment_of(settings), folder / f"{kind}.log") for kind in kinds]
        try:
            with api_process(settings, folder / "api.log") as base_url:
                yield Sandbox(settings, base_url)
        finally:
            for process in processes:
                process.stop()
