"""The gateway: takes what boxes say, answers after the commit, and tells them which doors to open.

Any number run side by side: a shared subscription gives each message to one of them.
"""

import asyncio
import signal
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from pickupbox.certificates import RequestRefusedError
from pickupbox.database import commands, presence
from pickupbox.database.commands import EXPIRY_SECONDS, Command
from pickupbox.database.presence import Beat, Unread
from pickupbox.devices.aside import Aside, unread_of
from pickupbox.devices.broker import connect
from pickupbox.devices.wire import (
    Ack,
    Certificate,
    Direction,
    Heartbeat,
    Journaled,
    Message,
    Open,
    PinAnswer,
    PinEntered,
    Purpose,
    RefusedByService,
    RenewalAsked,
    Resend,
    UnknownKindError,
    WireError,
    decode,
    encode,
    id_of,
    place_of,
    read_topic,
    topic,
    topics_of,
)
from pickupbox.domain.doors import Happening
from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.settings import Settings
from pickupbox.telemetry import DEVICE_MESSAGES, SET_ASIDE, log
from pickupbox.usecases.core import Core, open_core
from pickupbox.usecases.devices import AuthorityMissingError, renew
from pickupbox.usecases.doors import Entry, take_entries, take_past
from pickupbox.usecases.keypad import enter_pin

BATCH = 100
FOLD_SECONDS = 1.0
OUTBOX_SECONDS = 2.0
PINS_AT_ONCE = 50
WAITING_ENTRIES = 20_000
WAITING_TASKS = 10_000
AWAY_SECONDS = 1.0
STOP_SECONDS = 2.0


class Gateway:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._mqtt: aiomqtt.Client | None = None
        self._entries: dict[str, deque[Journaled]] = {}
        self._waiting = 0
        self._arrived = asyncio.Event()
        self._beats: dict[str, Heartbeat] = {}
        self._aside = Aside(core)
        self._pins = asyncio.Semaphore(PINS_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, settings: Settings, stop: asyncio.Event) -> None:
        jobs = (partial(self._listen, settings), self._take_waiting, self._fold, self._send_left, self._aside.keep)
        loops = [asyncio.create_task(self._forever(job)) for job in jobs]
        try:
            await stop.wait()
        finally:
            # What was committed is answered before the connection ends.
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=STOP_SECONDS)
            for loop in loops:
                loop.cancel()
            _, late = await asyncio.wait((*loops, *self._tasks), timeout=STOP_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _forever(self, job: Callable[[], Awaitable[None]]) -> None:
        """Do it again and again, whatever happens in one run."""
        while True:
            try:
                await job()
                continue
            except (TemporarilyUnavailable, aiomqtt.MqttError) as error:
                log.warning("gateway_waits", cause=repr(error.__cause__ or error))
            except Exception as error:  # noqa: BLE001 - one bad run must not end the gateway; it is logged
                log.error("gateway_loop_failed", exc_info=error)
            await asyncio.sleep(AWAY_SECONDS)

    async def _listen(self, settings: Settings) -> None:
        async with connect(settings, "gateway") as mqtt:
            self._mqtt = mqtt
            try:
                group = self._core.vault.gateway_group()
                await mqtt.subscribe(f"$share/{group}/{topics_of('+', Direction.UP)}", qos=1)
                log.info("gateway_connected")
                async for message in mqtt.messages:
                    await self.take(str(message.topic), bytes(message.payload or b""))
            finally:
                self._mqtt = None

    async def take(self, topic_text: str, payload: bytes) -> None:
        """Take one message. Whatever is wrong with it, the next one is taken."""
        device = kind = None
        try:
            device, direction, kind = read_topic(topic_text)
            message = decode(direction, kind, payload)
        except WireError as error:
            DEVICE_MESSAGES.labels("unreadable").inc()
            self._aside.put(topic_text, payload, str(error))
            if device is not None:
                reason = str(error) if isinstance(error, UnknownKindError) else f"{kind}: {error}"
                refusal = self._new(RefusedByService, about=id_of(payload), reason=reason[:200])
                self._later(self._publish(device, refusal))
            if device is not None and kind == Journaled.kind and (place := place_of(payload)) is not None:
                self._later(self._pass_over(device, place, id_of(payload), unread_of(topic_text, payload, str(error))))
            return
        DEVICE_MESSAGES.labels(message.kind).inc()
        match message:
            case Journaled():
                self._gather(device, message)
            case PinEntered():
                self._later(self._judge(device, message))
            case Heartbeat():
                self._beats[device] = message
            case RenewalAsked():
                self._later(self._renew(device, message))

    def _gather(self, device: str, entry: Journaled) -> None:
        if self._waiting >= WAITING_ENTRIES:
            return  # it is not acknowledged, so the box sends it again
        self._entries.setdefault(device, deque()).append(entry)
        self._waiting += 1
        self._arrived.set()

    async def _take_waiting(self) -> None:
        """One entry of each box that has some, in one commit. What fails is not acknowledged: it comes again."""
        await self._arrived.wait()
        batch = [(device, waiting.popleft()) for device, waiting in islice(self._entries.items(), BATCH)]
        for device, _ in batch:
            # To the end of the round, so that a box with many does not hold up the others.
            if rest := self._entries.pop(device):
                self._entries[device] = rest
        self._waiting -= len(batch)
        if not self._entries:
            self._arrived.clear()
        await self._take_batch(batch)

    async def _take_batch(self, batch: list[tuple[str, Journaled]]) -> None:
        try:
            answers = await take_entries(self._core, [_entry(device, message) for device, message in batch])
        except TemporarilyUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - one entry of the batch is to blame; it is found and set aside
            if len(batch) > 1:
                for alone in batch:
                    await self._take_batch([alone])
                return
            ((device, message),) = batch
            log.error("journal_entry_failed", device=device, exc_info=error)
            SET_ASIDE.inc()
            unread = Unread(topic(device, Journaled), encode(message), repr(error))
            answers = [await take_past(self._core, _entry(device, message), unread)]
        for (device, message), taken in zip(batch, answers, strict=True):
            if taken is None:
                continue
            answer: Message = self._new(Ack, boot=message.boot, seq=taken.seq, about=message.id)
            if taken.gap:
                answer = self._new(Resend, boot=message.boot, seq=taken.seq)
            self._later(self._publish(device, answer))

    async def _pass_over(self, device: str, place: tuple[str, int], about: str | None, unread: Unread) -> None:
        """A journal must not stop for ever at an entry that cannot be read: the next one has its turn."""
        boot, seq = place
        entry = Entry(device, boot, seq, Happening.STARTED, None, None, None)
        taken = await take_past(self._core, entry, unread)
        if taken is not None and not taken.gap:
            await self._publish(device, self._new(Ack, boot=boot, seq=taken.seq, about=about or "unreadable"))

    async def _renew(self, device: str, message: RenewalAsked) -> None:
        try:
            chain = await renew(self._core, device, message.request)
        except (RequestRefusedError, AuthorityMissingError) as error:
            refusal = self._new(RefusedByService, about=message.id, reason=str(error)[:200])
            await self._publish(device, refusal)
            return
        if chain is not None:
            await self._publish(device, self._new(Certificate, about=message.id, chain=chain))

    async def _judge(self, device: str, message: PinEntered) -> None:
        async with self._pins:
            judged = await enter_pin(self._core, device, message.pin, message.compartment, message.id)
        if judged.command is not None and await self._send(judged.command):
            async with self._core.db.connection() as connection:
                await commands.mark_sent(connection, [judged.command.id])
        answer = self._new(
            PinAnswer,
            about=message.id,
            verdict=judged.verdict,
            compartment=judged.command.compartment_code if judged.command else None,
            closed_seconds=judged.closed_seconds,
        )
        await self._publish(device, answer)

    async def _send(self, command: Command) -> bool:
        opening = Open(
            id=command.id,
            at=datetime.now(UTC),
            compartment=command.compartment_code,
            purpose=Purpose(command.purpose),
            expires_at=command.expires_at,
            about=command.about,
        )
        return await self._publish(command.device_id, opening, expiry=EXPIRY_SECONDS)

    async def _send_left(self) -> None:
        """Commands whose sender died between its commit and the broker, or did not reach it."""
        await asyncio.sleep(OUTBOX_SECONDS)
        if self._mqtt is None:
            return
        async with self._core.db.connection() as connection:
            left = await commands.take_unsent(connection, OUTBOX_SECONDS, BATCH)
        sent = await asyncio.gather(*(self._send(command) for command in left))
        if not all(sent):
            failed = [command.id for command, was_sent in zip(left, sent, strict=True) if not was_sent]
            async with self._core.db.connection() as connection:
                await commands.give_back(connection, failed)

    async def _fold(self) -> None:
        """Heartbeats of many boxes in one statement, and the service's clock back to each."""
        await asyncio.sleep(FOLD_SECONDS)
        # In one order, so that two gateways that heard the same boxes never wait for each other in a circle.
        beats, self._beats = dict(sorted(self._beats.items())), {}
        if not beats:
            return
        async with self._core.db.connection() as connection:
            committed = await presence.save(
                connection, [Beat(device, beat.boot, beat.software) for device, beat in beats.items()]
            )
        for (device, beat), seq in zip(beats.items(), committed, strict=True):
            if seq is not None:
                self._later(self._answer_beat(device, beat, seq))

    async def _answer_beat(self, device: str, beat: Heartbeat, seq: int) -> None:
        await self._publish(device, self._new(Ack, boot=beat.boot, seq=seq, about=beat.id))
        if beat.seq > seq:
            await self._publish(device, self._new(Resend, boot=beat.boot, seq=seq))

    async def _publish(self, device: str, message: Message, expiry: int | None = None) -> bool:
        """Whether the broker has it."""
        if self._mqtt is None:
            return False
        properties = None
        if expiry is not None:
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho has no types
            properties.MessageExpiryInterval = expiry
        try:
            await self._mqtt.publish(topic(device, type(message)), encode(message), qos=1, properties=properties)
        except aiomqtt.MqttError as error:
            log.warning("message_not_sent", device=device, kind=message.kind, cause=repr(error))
            return False
        return True

    def _new[M: Message](self, kind: type[M], **fields: Any) -> M:
        return kind(id=self._core.new_id("msg"), at=datetime.now(UTC), **fields)

    def _later(self, work: Coroutine[Any, Any, object]) -> None:
        if len(self._tasks) >= WAITING_TASKS:
            work.close()  # no box waits for an answer forever: it asks again
            return

        async def guarded() -> None:
            try:
                await work
            except TemporarilyUnavailable as error:
                log.warning("gateway_waits", cause=repr(error.__cause__ or error))
            except Exception as error:  # noqa: BLE001 - one message must not end the gateway; it is logged
                log.error("device_message_failed", exc_info=error)

        task = asyncio.create_task(guarded())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _entry(device: str, message: Journaled) -> Entry:
    return Entry(
        device, message.boot, message.seq, message.happening, message.compartment, message.command, message.reason
    )


async def serve(settings: Settings) -> None:
    core = open_core(settings)
    stop = asyncio.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_number, stop.set)
    log.info("gateway_started", environment=core.environment, cell=core.cell)
    await Gateway(core).run(settings, stop)
    await core.db.close()
    log.info("gateway_stopped")
