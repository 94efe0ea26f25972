"""The disturbed way between boxes and broker: some messages come twice, some are overtaken, some come very late.

It outlives the boxes: what is under way when one loses its power arrives all the same. It carries with a connection of
its own, so a message that it holds while the broker is dead is lost, although the box believes that it was taken.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from pickupbox.box.clock import ticks
from pickupbox.box.link import Link
from pickupbox.devices import wire
from pickupbox.devices.messages import Message

TWICE, OVERTAKEN, LATE = 0.05, 0.075, 0.01  # a third of those that are held to be overtaken may wait in vain
AGAIN_SECONDS = 2.0
OVERTAKEN_SECONDS = 5.0  # for a message that nothing follows


class Way:
    def __init__(self, port: int, chance: random.Random, late_seconds: tuple[float, float]) -> None:
        self.port = port
        self._chance = chance
        self._late_seconds = late_seconds
        self._mqtt: aiomqtt.Client | None = None
        self._followed: dict[str, list[asyncio.Event]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.links: dict[str, DisturbedLink] = {}  # of the boxes that have power
        self.tally: Counter[str] = Counter()

    async def run(self) -> None:
        while True:
            try:
                async with aiomqtt.Client(
                    "127.0.0.1", self.port, protocol=aiomqtt.ProtocolVersion.V5, timeout=10
                ) as mqtt:
                    mqtt.pending_calls_threshold = 1000
                    self._mqtt = mqtt
                    async for _ in mqtt.messages:
                        pass
            except aiomqtt.MqttError:
                self._mqtt = None
            await asyncio.sleep(0.2)

    def takes(self, lane: str, arrive: Callable[[], object]) -> bool:
        """Whether the message is held back. `arrive` is called when it comes out, or when it comes a second time."""
        self.tally["messages"] += 1
        fate = self._chance.random()
        if fate < OVERTAKEN:
            followed = asyncio.Event()
            self._followed.setdefault(lane, []).append(followed)
            self._later(self._overtaken(followed, arrive))
            return True
        if fate < OVERTAKEN + LATE:
            self.tally["late"] += 1
            self._later(self._after(self._chance.uniform(*self._late_seconds), arrive))
            return True
        for followed in self._followed.pop(lane, []):
            followed.set()
        if fate < OVERTAKEN + LATE + TWICE:
            self.tally["twice"] += 1
            self._later(self._after(self._chance.uniform(0, AGAIN_SECONDS), arrive))
        return False

    async def _overtaken(self, followed: asyncio.Event, arrive: Callable[[], object]) -> None:
        try:
            async with asyncio.timeout(OVERTAKEN_SECONDS):
                await followed.wait()
            self.tally["overtaken"] += 1
        except TimeoutError:
            self.tally["held, and nothing followed"] += 1
        await asyncio.sleep(0.05)  # the one that follows takes another connection: let it be first
        arrive()

    async def _after(self, seconds: float, arrive: Callable[[], object]) -> None:
        await asyncio.sleep(seconds)
        arrive()

    def up(self, device: str, message: Message, expiry_seconds: int | None, retain: bool) -> None:
        self._later(self._publish(device, message, expiry_seconds, retain))

    async def _publish(self, device: str, message: Message, expiry_seconds: int | None, retain: bool) -> None:
        properties = Properties(PacketTypes.PUBLISH)
        if expiry_seconds is not None:
            properties.MessageExpiryInterval = expiry_seconds
        topic = wire.topic(device, type(message))
        with suppress(aiomqtt.MqttError):
            if self._mqtt is not None:
                await self._mqtt.publish(topic, wire.encode(message), qos=1, retain=retain, properties=properties)
                return
        self.tally["lost"] += 1

    def down(self, device: str, message: Message) -> None:
        link = self.links.get(device)
        if link is None:
            self.tally["lost"] += 1
        else:
            link.arrive(message)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def emptied(self) -> None:
        """Until everything that is under way now has arrived."""
        _, left = await asyncio.wait(self._tasks.copy(), timeout=self._late_seconds[1] + 30)
        assert not left


class DisturbedLink(Link):
    """The box's own link; only what leaves it and what reaches it goes through the disturbed way."""

    way: Way
    device: str
    dark = False

    async def _publish(
        self, client: aiomqtt.Client, message: Message, expiry_seconds: int | None = None, *, retain: bool = False
    ) -> None:
        if self.dark:
            raise aiomqtt.MqttError("no power")
        if self.way.takes(f"{self.device} up", lambda: self.way.up(self.device, message, expiry_seconds, retain)):
            self._clock.sent(message.id, ticks())
        else:
            await super()._publish(client, message, expiry_seconds, retain=retain)

    def _take(self, message: Message) -> None:
        if not self.way.takes(f"{self.device} down", lambda: self.way.down(self.device, message)):
            self.arrive(message)

    def arrive(self, message: Message) -> None:
        if not self.dark:
            super()._take(message)


def disturbed(link: Link, way: Way, device: str) -> DisturbedLink:
    """The link that a box has made, led through the way."""
    link.__class__ = DisturbedLink
    assert isinstance(link, DisturbedLink)
    link.way, link.device = way, device
    way.links[device] = link
    return link
