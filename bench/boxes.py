"""Light boxes: the little of MQTT that a box needs, so that thousands fit into one process beside what is measured."""

import asyncio
from collections.abc import Callable, Sequence
from itertools import batched

from pickupbox.devices import packets
from pickupbox.devices.messages import Direction
from pickupbox.devices.packets import Kind
from pickupbox.devices.wire import PREFIX, topics_of

KEEP_ALIVE_SECONDS = 300
KNOCKING = 100  # connections that are made at once
CONNECT_SECONDS = 30


class LightBox(asyncio.Protocol):
    """One connection. Each message that comes is confirmed and given to `hear` as kind and payload."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.hear: Callable[[LightBox, str, bytes], None] = lambda *_: None
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.connected = False
        self._number = 0
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        hello = packets.connect(self.device, KEEP_ALIVE_SECONDS, receive_maximum=100, user=None, password=None)
        self._transport.write(hello)

    def connection_lost(self, error: Exception | None) -> None:
        self.connected = False
        if not self.ready.done():
            self.ready.set_exception(ConnectionError(f"{self.device} was not let in: {error}"))

    def publish(self, kind: str, payload: bytes) -> None:
        """QoS 1; that the broker has it is not waited for."""
        self._number = self._number % 65535 + 1
        topic = f"{PREFIX}/{self.device}/{Direction.UP}/{kind}"
        self._transport.write(packets.publish(topic, payload, self._number))

    def close(self) -> None:
        self._transport.write(packets.DISCONNECT)
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        received, end = self._received + data, 0
        for first, body, end in packets.split(received):  # noqa: B007 - the last end is used below
            self._take(first, body)
        self._received = received[end:]

    def _take(self, first: int, body: bytes) -> None:
        match first >> 4:
            case Kind.PUBLISH:
                topic, payload, number = packets.read_publish(first, body)
                if number is not None:
                    self._transport.write(packets.puback(number))
                self.hear(self, topic.rsplit("/", 1)[1], payload)
            case Kind.CONNACK:
                packets.read_connack(body)
                self._transport.write(packets.subscribe(1, topics_of(self.device, Direction.DOWN)))
            case Kind.SUBACK:
                self.connected = True
                self.ready.set_result(None)


async def connect_boxes(port: int, devices: Sequence[str]) -> list[LightBox]:
    """Boxes that are connected and hear what is said to them."""
    loop = asyncio.get_running_loop()
    boxes = [LightBox(device) for device in devices]
    for some in batched(boxes, KNOCKING):
        await asyncio.gather(*(loop.create_connection(lambda box=box: box, "127.0.0.1", port) for box in some))
        async with asyncio.timeout(CONNECT_SECONDS):
            await asyncio.gather(*(box.ready for box in some))
    return boxes
