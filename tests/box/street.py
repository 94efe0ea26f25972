"""A broker of its own, a scripted service that speaks through the wire, and boxes: what the program's tests need."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex
from typing import Any

import aiomqtt

from pickupbox.box.cable import Cable
from pickupbox.box.drivers.virtual import VirtualDriver
from pickupbox.box.program import Box
from pickupbox.box.settings import BoxSettings
from pickupbox.devices import wire
from pickupbox.devices.messages import Ack, Direction, Journaled, Message, Open, Presence, Resend
from pickupbox.domain.doors import Purpose
from tests.support.processes import free_port

SECONDS = 15.0
COMPARTMENTS = ("A1", "A2", "A3")


class Broker:
    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._config = folder / "mosquitto.conf"
        self._config.write_text(f"listener {self.port} 127.0.0.1\nallow_anonymous true\n")
        self.start()

    def start(self) -> None:
        self._running = subprocess.Popen(["mosquitto", "-c", str(self._config)], stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        self._running.kill()
        self._running.wait(10)


@dataclass
class Service:
    """Takes the journal in order and acknowledges it, unless it is told to be difficult."""

    mqtt: aiomqtt.Client
    device: str
    acknowledges: bool = True
    ahead: timedelta = timedelta()  # how far its clock is before ours
    heard: list[Message] = field(default_factory=list)
    retained: list[Presence] = field(default_factory=list)
    taken: dict[str, list[Journaled]] = field(default_factory=dict)
    loses: set[int] = field(default_factory=set)  # numbers that do not arrive the first time
    answers: Callable[[Message], list[Message]] = lambda _: []

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def new[M: Message](self, kind: type[M], **values: Any) -> M:
        return kind(**{"id": token_hex(8), "at": self.now(), **values})

    async def listen(self) -> None:
        async for heard in self.mqtt.messages:
            device, direction, kind = wire.read_topic(str(heard.topic))
            if device == self.device and direction is Direction.UP:
                await self._take(wire.decode(direction, kind, bytes(heard.payload)))

    async def _take(self, message: Message) -> None:
        self.heard.append(message)
        for answer in self.answers(message):
            await self.tell(answer)
        if not isinstance(message, Journaled):
            return
        if message.seq in self.loses:
            self.loses.remove(message.seq)
            return
        taken = self.taken.setdefault(message.boot, [])
        if message.seq == len(taken) + 1:
            taken.append(message)
        if not self.acknowledges:
            return
        if message.seq > len(taken):
            await self.tell(self.new(Resend, boot=message.boot, seq=len(taken)))
        else:
            await self.tell(self.new(Ack, boot=message.boot, seq=len(taken), about=message.id))

    async def tell(self, message: Message, times: int = 1) -> None:
        for _ in range(times):
            await self.mqtt.publish(wire.topic(self.device, type(message)), wire.encode(message), qos=1)

    def opening(self, compartment: str, seconds: float = 30, **values: Any) -> Open:
        expires_at = self.now() + timedelta(seconds=seconds)
        return self.new(Open, compartment=compartment, purpose=Purpose.LOAD, expires_at=expires_at, **values)

    def said(self, boot: str | None = None) -> list[tuple[str, str | None]]:
        """What the journal said so far, starts left out."""
        taken = self.taken[boot] if boot else [one for each in self.taken.values() for one in each]
        return [(one.happening.value, one.compartment) for one in taken if one.happening != "started"]

    def entries(self) -> list[int]:
        """The numbers of the journal as they arrived, doubles included."""
        return [message.seq for message in self.heard if isinstance(message, Journaled)]


@asynccontextmanager
async def a_service(broker: Broker, device: str, **manners: Any) -> AsyncIterator[Service]:
    for attempt in range(100):
        client = aiomqtt.Client("127.0.0.1", broker.port, protocol=aiomqtt.ProtocolVersion.V5, timeout=3)
        try:
            await client.__aenter__()
            break
        except aiomqtt.MqttError:
            if attempt == 99:
                raise
            await asyncio.sleep(0.05)
    service = Service(client, device, **manners)
    await client.subscribe(wire.topics_of(device, Direction.UP), qos=1)
    listening = asyncio.create_task(service.listen())
    try:
        yield service
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await asyncio.gather(client.__aexit__(None, None, None), return_exceptions=True)


def new_device() -> str:
    return f"dev_c1_{token_hex(16)}"


def settings_for(broker: Broker, folder: Path, device: str, **others: Any) -> BoxSettings:
    return BoxSettings(
        device=device,
        compartments=COMPARTMENTS,
        journal=folder / "journal",
        mqtt_port=broker.port,
        **{"look_seconds": 0.05, "heartbeat_seconds": 1.0, **others},
    )


@dataclass
class Running:
    box: Box
    driver: VirtualDriver
    shown: list[str]
    cable: Cable


@asynccontextmanager
async def a_box(settings: BoxSettings, driver: VirtualDriver | None = None) -> AsyncIterator[Running]:
    """A box in this process; at the end it stops in order."""
    driver = driver or VirtualDriver(settings.compartments)
    shown: list[str] = []
    cable = Cable()
    box = Box(settings, driver, shown.append, cable)
    running = asyncio.create_task(box.run())
    try:
        yield Running(box, driver, shown, cable)
    finally:
        box.stop()
        async with asyncio.timeout(SECONDS):
            await running
