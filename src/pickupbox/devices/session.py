"""The gateway's session with the broker. Only the box uses an MQTT library: in the gateway it took half of all time."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

from pickupbox.devices import packets
from pickupbox.devices.packets import Accepted, Kind, PacketError
from pickupbox.settings import Settings

INFLIGHT = 1000
KEEP_ALIVE_SECONDS = 30
ANSWER_SECONDS = 10

type Hear = Callable[[str, bytes], None]


class BrokerError(Exception):
    """The broker is away, or did not do what it was asked."""


class Session(asyncio.Protocol):
    """One connection. Each message is given to `hear` as topic and payload, and confirmed when that returns."""

    def __init__(self, hear: Hear, hello: bytes) -> None:
        loop = asyncio.get_running_loop()
        self._hear = hear
        self._hello = hello
        self._received = b""
        self._confirming: list[bytes] = []  # of what came together; one write costs as much as another
        self._number = 0
        self._waiting: dict[int, asyncio.Future[int]] = {}  # numbers that are not confirmed yet
        self._room = asyncio.Semaphore(INFLIGHT)
        self._writable = asyncio.Event()
        self._heard_at = loop.time()
        self._accepted: asyncio.Future[Accepted] = loop.create_future()
        self._lost: asyncio.Future[str] = loop.create_future()

    async def let_in(self) -> None:
        accepted = await self._in_time(self._accepted)
        self._room = asyncio.Semaphore(min(INFLIGHT, accepted.receive_maximum))

    async def subscribe(self, topics: str) -> None:
        number = self._next_number()
        reason = await self._answer(number, packets.subscribe(number, topics))
        if reason >= 0x80:
            raise BrokerError(f"not subscribed: reason {reason:#x}")

    async def publish(self, topic: str, payload: bytes, *, qos: int, expiry: int | None = None) -> None:
        """By QoS 1 it returns when the broker has it; by QoS 0 when it is on its way."""
        if not self._writable.is_set():
            await self._in_time(self._writable.wait())
        if self._lost.done():
            raise BrokerError(self._lost.result())
        if qos == 0:
            self._transport.write(packets.publish(topic, payload, expiry=expiry))
            return
        await self._in_time(self._room.acquire())
        number = self._next_number()
        reason = await self._answer(number, packets.publish(topic, payload, number, expiry))
        if reason >= 0x80:
            raise BrokerError(f"not published: reason {reason:#x}")

    async def ended(self) -> None:
        """Wait for the end of the connection, keeping it alive until then; it is always an error."""
        given = self._accepted.result().keep_alive
        seconds = KEEP_ALIVE_SECONDS if given is None else given
        while not self._lost.done():
            await asyncio.wait([self._lost], timeout=seconds / 2 if seconds else None)
            if asyncio.get_running_loop().time() - self._heard_at > seconds * 1.5 > 0:
                self._break_off("the broker is silent")
            elif not self._lost.done():
                self._transport.write(packets.PINGREQ)
        raise BrokerError(self._lost.result())

    async def _answer(self, number: int, packet: bytes) -> int:
        if self._lost.done():
            raise BrokerError(self._lost.result())
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._transport.write(packet)
        return await self._in_time(answer)

    async def _in_time[T](self, waiting: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await waiting
        except TimeoutError:
            raise BrokerError("the broker does not answer") from None

    def _next_number(self) -> int:
        """One that waits for no answer; there are always some, because far fewer may be under way than there are."""
        while True:
            self._number = self._number % 65535 + 1
            if self._number not in self._waiting:
                return self._number

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._writable.set()
        self._transport.write(self._hello)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, error: Exception | None) -> None:
        self._break_off(repr(error) if error else "the broker ended the connection")

    def data_received(self, data: bytes) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        received, end = self._received + data, 0
        try:
            for first, body, end in packets.split(received):  # noqa: B007 - the last end is used below
                self._take(first, body)
        except (PacketError, IndexError, UnicodeDecodeError) as error:
            self._break_off(repr(error))
        self._received = received[end:]
        if self._confirming and not self._lost.done():
            self._transport.write(b"".join(self._confirming))
        self._confirming.clear()

    def _take(self, first: int, body: bytes) -> None:
        match first >> 4:
            case Kind.PUBLISH:
                topic, payload, number = packets.read_publish(first, body)
                self._hear(topic, payload)
                if number is not None:
                    self._confirming.append(packets.puback(number))
            case Kind.PUBACK:
                self._room.release()
                self._answered(body, body[2] if len(body) > 2 else 0)
            case Kind.SUBACK:
                self._answered(body, body[-1])
            case Kind.CONNACK:
                self._accepted.set_result(packets.read_connack(body))
            case Kind.PINGRESP:
                pass
            case Kind.DISCONNECT:
                raise PacketError(f"the broker says goodbye: reason {body[0] if body else 0:#x}")
            case other:
                raise PacketError(f"unexpected packet {other}")

    def _answered(self, body: bytes, reason: int) -> None:
        answer = self._waiting.pop(int.from_bytes(body[:2]), None)
        if answer is not None and not answer.done():
            answer.set_result(reason)

    def _break_off(self, reason: str) -> None:
        if self._lost.done():
            return
        self._lost.set_result(reason)
        self._transport.abort()
        # Whoever waits goes on, and finds that the connection is lost.
        self._writable.set()
        for _ in range(INFLIGHT):
            self._room.release()
        answers: list[asyncio.Future[Any]] = [self._accepted, *self._waiting.values()]
        for answer in answers:
            if not answer.done():
                answer.set_exception(BrokerError(reason))

    def goodbye(self) -> None:
        if not self._lost.done():
            self._transport.write(packets.DISCONNECT)
            self._transport.close()


@asynccontextmanager
async def connect(settings: Settings, role: str, hear: Hear) -> AsyncIterator[Session]:
    """A session with the broker that the settings name; `mqtts` with the service's certificate."""
    url = urlsplit(settings.mqtt_url)
    tls = None
    if url.scheme == "mqtts":
        tls = ssl.create_default_context(cafile=settings.mqtt_ca)
        if settings.mqtt_certificate is not None:
            tls.load_cert_chain(settings.mqtt_certificate, settings.mqtt_key)
    hello = packets.connect(
        f"pickupbox-{role}-{os.urandom(6).hex()}",
        KEEP_ALIVE_SECONDS,
        receive_maximum=INFLIGHT,
        user=url.username,
        password=url.password,
    )
    session = Session(hear, hello)
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await asyncio.get_running_loop().create_connection(
                lambda: session, url.hostname or "127.0.0.1", url.port or (8883 if tls else 1883), ssl=tls
            )
    except (OSError, TimeoutError) as error:
        raise BrokerError(f"not connected: {error!r}") from error
    try:
        await session.let_in()
        yield session
    finally:
        session.goodbye()
