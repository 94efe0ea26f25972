"""What the broker bears, whoever asks for it. On a real Mosquitto."""

from pathlib import Path

import aiomqtt
import pytest

from tests.devices.broker import Broker, mosquitto
from tests.devices.test_broker import UP, A, heard


async def test_the_plain_broker_lets_anyone_in_and_keeps_the_bounds(tmp_path: Path) -> None:
    with mosquitto(tmp_path, plain=True) as broker:
        assert (broker.url, broker.service_url) == (f"mqtt://127.0.0.1:{broker.port}",) * 2
        async with aiomqtt.Client("127.0.0.1", broker.port, protocol=aiomqtt.ProtocolVersion.V5) as anyone:
            await anyone.subscribe("#", qos=1)
            await anyone.publish(UP(A), b"x" * 8192, qos=1)
            assert await heard(anyone, b"x" * 8192)


async def pile_up(port: int) -> None:
    async with aiomqtt.Client("127.0.0.1", port, protocol=aiomqtt.ProtocolVersion.V5, timeout=2) as hoarder:
        for number in range(1000):
            await hoarder.publish(f"pickupbox/v1/x/up/k{number}", b"x" * 8000, qos=1, retain=True)


async def test_a_broker_whose_memory_is_used_up_cuts_off_who_wants_more_and_lives_on(tmp_path: Path) -> None:
    crowded = Broker(tmp_path, plain=True)
    config = tmp_path / "mosquitto.conf"
    assert "\nmemory_limit 1073741824\n" in config.read_text()
    config.write_text(config.read_text().replace("1073741824", "4000000"))
    crowded.start()
    try:
        with pytest.raises(aiomqtt.MqttError):
            await pile_up(crowded.port)
        async with aiomqtt.Client("127.0.0.1", crowded.port, protocol=aiomqtt.ProtocolVersion.V5) as anyone:
            await anyone.subscribe("a", qos=1)
            await anyone.publish("a", b"b", qos=1)
            assert await heard(anyone, b"b")
    finally:
        crowded.stop()
