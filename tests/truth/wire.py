"""The wire: all that is replaced of the street. It stands for a broker that may deliver late, twice, in any order or
not at all, and for its sessions with the box program (which believes it to be aiomqtt's) and with the gateway."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from math import inf
from types import SimpleNamespace
from typing import Any, Self

import aiomqtt

from pickupbox.devices import wire
from pickupbox.devices.messages import Direction, Heartbeat, Message
from pickupbox.devices.session import BrokerError

HEARTBEAT_SECONDS = 60


@dataclass(frozen=True, slots=True, eq=False)
class Sent:
    topic: str
    payload: bytes
    lost_at: float = inf

    def read(self) -> tuple[str, Message]:
        """Of which device, and what."""
        device, direction, kind = wire.read_topic(self.topic)
        return device, wire.decode(direction, kind, self.payload)


@dataclass
class Wire:
    """What is under way, and who is there to take it."""

    watch: Callable[[str, Message], None]
    watch_arrival: Callable[[str, Message], None]
    under_way: dict[Direction, list[Sent]] = field(default_factory=lambda: {way: [] for way in Direction})
    box: "BoxSession | None" = None
    gateway: "GatewaySession | None" = None
    whole: bool = True
    _echoes: list[tuple[Direction, Sent]] = field(default_factory=list)

    def can_deliver(self, way: Direction) -> bool:
        return bool(self.under_way[way]) and (self.box if way is Direction.DOWN else self.gateway) is not None

    def send(self, way: Direction, topic: str, payload: bytes) -> None:
        device, message = Sent(topic, payload).read()
        self.watch(device, message)
        # A broker drops whatever is too old. Nothing but the deadline of a parcel relies on that, and only for
        # heartbeats: an old one would say that the box has nothing to tell.
        lost_at = _time() + HEARTBEAT_SECONDS if isinstance(message, Heartbeat) else inf
        self.under_way[way].append(Sent(topic, payload, lost_at))

    def deliver(self, way: Direction, place: int = 0, *, again: bool = False) -> None:
        """One message; `again`: it comes once more, after the next echo."""
        sent = self.under_way[way].pop(place)
        if sent.lost_at < _time():
            return
        if again:
            self._echoes.append((way, sent))
        taker = self.box if way is Direction.DOWN else self.gateway
        assert taker is not None
        if way is Direction.DOWN:
            self.watch_arrival(*sent.read())
        taker.take(sent)

    def echo(self) -> None:
        for way, sent in self._echoes:
            self.under_way[way].append(sent)
        self._echoes.clear()

    def lose(self, way: Direction, place: int) -> None:
        del self.under_way[way][place]

    def cut(self) -> None:
        """The box's cable. What the broker has for the box it keeps."""
        self.whole = False
        if self.box is not None:
            self.box.break_off()


def _time() -> float:
    return asyncio.get_running_loop().time()


class BoxSession:
    """What the box's link needs of aiomqtt.Client."""

    pending_calls_threshold = 0
    timeout = 0.0

    def __init__(self, between: Wire) -> None:
        self._wire = between
        self._heard: asyncio.Queue[SimpleNamespace | None] = asyncio.Queue()

    async def __aenter__(self) -> Self:
        if not self._wire.whole:
            raise aiomqtt.MqttError("no network")
        self._wire.box = self
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._wire.box is self:
            self._wire.box = None

    async def subscribe(self, *_: Any, **__: Any) -> tuple[()]:
        return ()

    async def publish(self, topic: str, payload: bytes, **_: Any) -> None:
        if self._wire.box is not self:
            raise aiomqtt.MqttError("not connected")
        self._wire.send(Direction.UP, topic, payload)

    def take(self, sent: Sent) -> None:
        self._heard.put_nowait(SimpleNamespace(topic=sent.topic, payload=sent.payload))

    @property
    async def messages(self) -> AsyncIterator[SimpleNamespace]:
        while (message := await self._heard.get()) is not None:
            yield message
        raise aiomqtt.MqttError("disconnected")

    def break_off(self) -> None:
        self._wire.box = None
        self._heard.put_nowait(None)


class GatewaySession:
    """What the gateway needs of its session; `point` is awaited before and after a message leaves."""

    def __init__(self, between: Wire, hear: Callable[[str, bytes], None], point: Callable[[], Awaitable[None]]) -> None:
        self._wire = between
        self._hear = hear
        self._point = point
        self._context = copy_context()  # whoever hears acts as the one who connected

    async def __aenter__(self) -> Self:
        self._wire.gateway = self
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._wire.gateway is self:
            self._wire.gateway = None

    async def subscribe(self, *_: Any) -> None:
        pass

    async def ended(self) -> None:
        await asyncio.Event().wait()

    async def publish(self, topic: str, payload: bytes, **_: Any) -> None:
        if self._wire.gateway is not self:
            raise BrokerError("not connected")
        await self._point()
        self._wire.send(Direction.DOWN, topic, payload)
        await self._point()

    def take(self, sent: Sent) -> None:
        self._context.run(self._hear, sent.topic, sent.payload)
