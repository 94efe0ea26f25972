"""Boxes for tests of the service's side: a device, a journal, and a box that says over a broker what it is told to."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import aiomqtt

from pickupbox.devices.gateway import Gateway
from pickupbox.devices.messages import Ack, Direction, Heartbeat, Journaled, Message, Resend
from pickupbox.devices.wire import decode, encode, topics_of
from pickupbox.domain.doors import Happening
from pickupbox.settings import Settings
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.doors import Entry, Taken, take_entries
from pickupbox.usecases.keypad import enter_pin
from tests.support.processes import free_port
from tests.support.shop import Shop

HEARD_SECONDS = 10.0


def operator(shop: Shop, name: str = "one") -> Caller:
    return Caller(shop.tenant, name)


async def add_device(shop: Shop, box_id: str | None = None) -> str:
    device = shop.core.new_id("dev")
    async with shop.core.db.connection() as connection:
        await connection.execute(
            "INSERT INTO devices (tenant_id, id, box_id) VALUES ($1, $2, $3)",
            shop.tenant,
            device,
            box_id or shop.box_id,
        )
    return device


async def revoke(shop: Shop, device: str) -> None:
    async with shop.core.db.connection() as connection:
        await connection.execute("UPDATE devices SET revoked_at = now() WHERE id = $1", device)


async def ask(core: Core, question: str, *values: Any) -> list[tuple[Any, ...]]:
    async with core.db.connection() as connection:
        return [tuple(row.values()) for row in await connection.fetch(question, *values)]


async def place_of(core: Core, shipment_id: str) -> tuple[str, str]:
    """Stage and compartment of a shipment."""
    ((stage, code),) = await ask(core, "SELECT stage, compartment_code FROM shipments WHERE id = $1", shipment_id)
    return stage, code


async def stage_of(core: Core, shipment_id: str) -> str:
    return (await place_of(core, shipment_id))[0]


async def is_offered(shop: Shop, box_id: str, code: str) -> bool:
    """Whether the compartment may be given to the next reservation."""
    ((offered,),) = await ask(
        shop.core,
        """
        SELECT in_service AND shipment_id IS NULL FROM compartments
        WHERE tenant_id = $1 AND box_id = $2 AND code = $3
        """,
        shop.tenant,
        box_id,
        code,
    )
    return bool(offered)


async def pin_of(shop: Shop, shipment_id: str) -> str:
    pin: str = (await shop.pin(shipment_id)).json()["pickup_pin"]
    return pin


def wrong_pin(*right: str) -> str:
    """A PIN that is none of these."""
    return next(pin for pin in (f"{secrets.randbelow(10**6):06}" for _ in range(100)) if pin not in right)


class Journal:
    """The journal of a device, and the way of its entries into the service without a broker."""

    def __init__(self, core: Core, device: str) -> None:
        self._core = core
        self.device = device
        self.boot = secrets.token_hex(8)
        self.seq = 0

    def write(self, happening: Happening, code: str | None = None, command: str | None = None) -> Entry:
        self.seq += 1
        return Entry(self.device, self.boot, self.seq, happening, code, command, None)

    async def tell(self, happening: Happening, code: str | None = None, command: str | None = None) -> Taken | None:
        (taken,) = await take_entries(self._core, [self.write(happening, code, command)])
        return taken

    async def cycle(self, code: str, command: str | None) -> None:
        """The door goes open and shut."""
        await self.tell(Happening.DOOR_OPENED, code, command)
        await self.tell(Happening.DOOR_CLOSED, code, command)


async def command_for(shop: Shop, journal: Journal, shipment: str) -> tuple[str, str]:
    """A PIN is typed: the compartment and the id of the command."""
    judged = await enter_pin(shop.core, journal.device, await pin_of(shop, shipment), None, "m")
    assert judged.command is not None
    return judged.command.compartment_code, judged.command.id


async def outcome_of(core: Core, command: str) -> str | None:
    ((outcome,),) = await ask(core, "SELECT outcome FROM door_commands WHERE id = $1", command)
    return str(outcome) if outcome else None


class Box:
    """What it is told to say it says; what it hears is kept until it is asked for."""

    def __init__(self, device: str, mqtt: aiomqtt.Client) -> None:
        self.device = device
        self._mqtt = mqtt
        self.boot = secrets.token_hex(8)
        self.seq = 0
        self._heard: list[Message] = []
        self._something = asyncio.Event()

    async def listen(self) -> None:
        async for message in self._mqtt.messages:
            kind = str(message.topic).rsplit("/", 1)[1]
            self._heard.append(decode(Direction.DOWN, kind, bytes(message.payload)))
            self._something.set()

    async def say(self, kind: type[Message], **fields: Any) -> str:
        """Say something new; its id."""
        message = kind(id=f"msg_{secrets.token_hex(8)}", at=datetime.now(UTC), **fields)
        await self.send(message)
        return message.id

    async def send(self, message: Message) -> None:
        await self.send_raw(type(message).kind, encode(message))

    async def send_raw(self, kind: str, payload: bytes) -> None:
        await self._mqtt.publish(topics_of(self.device, Direction.UP).replace("+", kind), payload, qos=1)

    def write(self, happening: Happening, code: str | None = None, command: str | None = None) -> Journaled:
        """The next entry of its journal, not sent yet."""
        self.seq += 1
        return Journaled(
            id=f"msg_{secrets.token_hex(8)}",
            at=datetime.now(UTC),
            boot=self.boot,
            seq=self.seq,
            happening=happening,
            compartment=code,
            command=command,
        )

    async def hear(self, kind: Any, seconds: float = HEARD_SECONDS, **fields: Any) -> Any:
        """The first message of that kind (or kinds) with those fields, however long ago it came; it is taken."""
        async with asyncio.timeout(seconds):
            while True:
                for message in self._heard:
                    if isinstance(message, kind) and all(getattr(message, k) == v for k, v in fields.items()):
                        self._heard.remove(message)
                        return message
                self._something.clear()
                await self._something.wait()

    async def deliver(self, entries: Sequence[Journaled], seconds: float = 30) -> None:
        """Send entries as a box does: again after a resend or a silence, until the last is acknowledged."""
        committed = 0
        await self._send_after(committed, entries)
        async with asyncio.timeout(seconds):
            while committed < entries[-1].seq:
                try:
                    answer = await self.hear((Ack, Resend), 2, boot=self.boot)
                except TimeoutError:
                    await self._send_after(committed, entries)
                    continue
                committed = max(committed, answer.seq)
                if isinstance(answer, Resend):
                    await self._send_after(committed, entries)

    async def _send_after(self, seq: int, entries: Sequence[Journaled]) -> None:
        for entry in entries:
            if entry.seq > seq:
                await self.send(entry)

    async def beat(self, seconds: float = 20) -> Ack:
        """Send heartbeats until one is answered."""
        async with asyncio.timeout(seconds):
            while True:
                about = await self.say(Heartbeat, boot=self.boot, seq=self.seq, open_doors=[], software="test")
                try:
                    return await self.hear(Ack, 2.5, about=about)
                except TimeoutError:
                    continue

    def heard(self, kind: type[Message]) -> list[Message]:
        return [message for message in self._heard if isinstance(message, kind)]


def client_of(settings: Settings) -> aiomqtt.Client:
    """A library's client, so that the service's own side is not tested against itself."""
    url = urlsplit(settings.mqtt_url)
    client = aiomqtt.Client(
        url.hostname or "127.0.0.1",
        url.port or 1883,
        protocol=aiomqtt.ProtocolVersion.V5,
        timeout=10,
        keepalive=30,
        max_inflight_messages=1000,
        max_concurrent_outgoing_calls=1000,
    )
    client.pending_calls_threshold = 1000  # below that it is nothing to warn of
    return client


@asynccontextmanager
async def box_at(settings: Settings, device: str) -> AsyncIterator[Box]:
    """A box that is connected and listens."""
    async with client_of(settings) as mqtt:
        box = Box(device, mqtt)
        await mqtt.subscribe(topics_of(device, Direction.DOWN), qos=1)
        listening = asyncio.create_task(box.listen())
        try:
            yield box
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)


@asynccontextmanager
async def gateway(core: Core, settings: Settings) -> AsyncIterator[Gateway]:
    """A gateway in this process, asked to stop at the end; it must do so within 5 s."""
    made, stop = Gateway(core), asyncio.Event()
    running = asyncio.create_task(made.run(settings, stop))
    try:
        yield made
    finally:
        stop.set()
        async with asyncio.timeout(5):
            await running


class Relay:
    """A way to PostgreSQL that can be cut and mended."""

    def __init__(self, database_url: str) -> None:
        address = urlsplit(database_url)
        self._target = (address.hostname or "127.0.0.1", address.port or 5432)
        self._port = free_port()
        self._writers: set[asyncio.StreamWriter] = set()
        user = f"{address.username}@" if address.username else ""
        self.url = urlunsplit(address._replace(netloc=f"{user}127.0.0.1:{self._port}", query="sslmode=disable"))

    async def mend(self) -> None:
        self._serving = await asyncio.start_server(self._forward, "127.0.0.1", self._port)

    def cut(self) -> None:
        self._serving.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _forward(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        server, to_server = await asyncio.open_connection(*self._target)
        ends = {to_client, to_server}
        self._writers |= ends
        await asyncio.gather(_copy(client, to_server), _copy(server, to_client))
        self._writers -= ends


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
    writer.close()


@asynccontextmanager
async def relay(database_url: str) -> AsyncIterator[Relay]:
    made = Relay(database_url)
    await made.mend()
    try:
        yield made
    finally:
        made.cut()
