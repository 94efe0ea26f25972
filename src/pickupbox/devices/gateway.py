"""The gateway: takes what boxes say, answers after the commit, and tells them which doors to open.

Any number run side by side: a shared subscription gives each message to one of them.
"""

import asyncio
import re
import signal
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from pickupbox.certificates import RequestRefusedError
from pickupbox.database import commands, deployments, presence, rosters
from pickupbox.database.aside import Unread
from pickupbox.database.presence import Beat
from pickupbox.database.rosters import Compared
from pickupbox.devices.aside import Aside, tell
from pickupbox.devices.dropped import Dropped
from pickupbox.devices.errands import Errands, guarded, start
from pickupbox.devices.messages import (
    Ack,
    Certificate,
    Direction,
    Heartbeat,
    Journaled,
    Message,
    PinAnswer,
    PinEntered,
    Presence,
    RefusedByBox,
    RefusedByService,
    RenewalAsked,
    Resend,
    RosterTaken,
)
from pickupbox.devices.outbox import Outbox
from pickupbox.devices.session import BrokerError, Session, connect
from pickupbox.devices.values import WireError
from pickupbox.devices.waiting import Waiting
from pickupbox.devices.wire import UnknownKindError, decode, encode, id_of, place_of, read_topic, topic, topics_of
from pickupbox.domain.doors import Happening
from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.settings import Settings
from pickupbox.telemetry import DEVICE_MESSAGES, DEVICE_MESSAGES_DROPPED, SET_ASIDE, log
from pickupbox.usecases.core import Core, open_core
from pickupbox.usecases.devices import AuthorityMissingError, renew
from pickupbox.usecases.doors import Entry, Taken, take_entries, take_past
from pickupbox.usecases.keypad import UnknownDeviceError, enter_pin

TAKERS = 2  # so that PostgreSQL has work while we are busy with the other batch
FOLD_SECONDS = 1.0
AT_ONCE = 50
PINS_OF_ONE = 5
ERRANDS_OF_ONE = 100  # a box sends 50 entries ahead; one that cannot be read is refused and passed over
ANSWERS = 1000
AWAY_SECONDS = 1.0
STOP_SECONDS = 2.0
_OURS = re.compile(r"[a-z]+_[a-z][a-z0-9]{0,7}_[0-9a-f]{32}")  # the id of a message that the service sent


class Gateway:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._mqtt: Session | None = None
        self._group: str | None = None
        self._waiting = Waiting()
        self._beats: dict[str, Heartbeat] = {}
        self._presences: dict[str, bool] = {}
        self._refusals: dict[str, RefusedByBox] = {}
        self._aside = Aside(core)
        self._outbox = Outbox(core, self._publish)
        self._tasks: set[asyncio.Task[None]] = set()
        self._answers: set[asyncio.Task[None]] = set()
        # PINs have turns of their own: somebody stands before the box.
        self._pins = Errands(self._tasks, of_one=PINS_OF_ONE, at_once=AT_ONCE)
        self._errands = Errands(self._tasks, of_one=ERRANDS_OF_ONE, at_once=AT_ONCE)
        self._dropped = Dropped()

    async def run(self, settings: Settings, stop: asyncio.Event) -> None:
        jobs: list[Callable[[], Awaitable[None]]] = [
            partial(self._listen, settings),
            *[self._take_waiting] * TAKERS,
            self._fold,
            self._outbox.hear_bell,
            self._send_out,
            self._aside.keep,
        ]
        loops = [asyncio.create_task(self._forever(job)) for job in jobs]
        try:
            await stop.wait()
        finally:
            # What was committed is answered before the connection ends.
            if under_way := self._tasks | self._answers:
                await asyncio.wait(under_way, timeout=STOP_SECONDS)
            for loop in loops:
                loop.cancel()
            _, late = await asyncio.wait((*loops, *self._tasks, *self._answers), timeout=STOP_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _forever(self, job: Callable[[], Awaitable[None]]) -> None:
        """Do it again and again, whatever happens in one run."""
        while True:
            try:
                await job()
                continue
            except (TemporarilyUnavailable, BrokerError) as error:
                log.warning("gateway_waits", cause=repr(error.__cause__ or error))
            except Exception as error:  # noqa: BLE001 - one bad run must not end the gateway; it is logged
                log.error("gateway_loop_failed", exc_info=error)
            await asyncio.sleep(AWAY_SECONDS)

    async def _listen(self, settings: Settings) -> None:
        if self._group is None:
            async with self._core.db.connection() as connection:
                self._group = await deployments.keep_gateway_group(connection, self._core.vault.gateway_group())
        async with connect(settings, "gateway", lambda *said: self.take(*said)) as mqtt:
            self._mqtt = mqtt
            try:
                await mqtt.subscribe(f"$share/{self._group}/{topics_of('+', Direction.UP)}")
                log.info("gateway_connected")
                await mqtt.ended()
            finally:
                self._mqtt = None

    def take(self, topic_text: str, payload: bytes) -> None:
        """Take one message. Whatever is wrong with it, the next one is taken."""
        device = None
        try:
            device, direction, kind = read_topic(topic_text)
            message = decode(direction, kind, payload)
        except WireError as error:
            DEVICE_MESSAGES.labels("unreadable").inc()
            SET_ASIDE.inc()
            if device is not None:
                self._refuse(device, topic_text, payload, error)
            return
        DEVICE_MESSAGES.labels(message.kind).inc()
        taken = True
        match message:
            case Journaled():
                taken = self._waiting.put(device, message)
            case PinEntered():
                taken = self._pins.put(device, partial(self._judge, device, message))
            case Heartbeat():
                self._beats[device] = message
                self._presences.pop(device, None)  # who speaks is there, whatever the broker said before
            case Presence():
                self._presences[device] = message.online
            case RosterTaken():
                taken = self._errands.put(device, partial(self._confirm, device, message.version))
            case RenewalAsked():
                taken = self._errands.put(device, partial(self._renew, device, message))
            case RefusedByBox():
                # One of each box a second: a box that refuses everything must not fill the log.
                self._refusals.setdefault(device, message)
        if not taken:
            self._dropped.note(device, message.kind)

    def _refuse(self, device: str, topic_text: str, payload: bytes, error: WireError) -> None:
        _, _, kind = read_topic(topic_text)
        reason = str(error) if isinstance(error, UnknownKindError) else f"{kind}: {error}"
        refusal = self._new(RefusedByService, about=id_of(payload), reason=reason[:200])
        unread = self._aside.unread(device, topic_text, payload, str(error))
        taken = self._errands.put(device, partial(self._publish, device, refusal))
        if kind == Journaled.kind and (place := place_of(payload)) is not None:
            pass_over = partial(self._pass_over, device, place, refusal.about, unread)
            taken = self._errands.put(device, pass_over) and taken
        else:
            self._aside.put(device, unread)
        if not taken:
            self._dropped.note(device, "unreadable")

    async def _take_waiting(self) -> None:
        """One entry of each box that has some, in one commit. What fails is not acknowledged: it comes again."""
        async with self._waiting.batch() as batch:
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
        self._answer(self._acknowledge(batch, answers))

    async def _acknowledge(self, batch: list[tuple[str, Journaled]], answers: Sequence[Taken | None]) -> None:
        for (device, message), taken in zip(batch, answers, strict=True):
            if taken is None:
                continue
            if taken.gap:
                await self._publish(device, self._new(Resend, boot=message.boot, seq=taken.seq))
            else:
                await self._publish(device, self._new(Ack, boot=message.boot, seq=taken.seq, about=message.id))

    async def _pass_over(self, device: str, place: tuple[str, int], about: str | None, unread: Unread) -> None:
        """A journal must not stop for ever at an entry that cannot be read: the next one has its turn."""
        boot, seq = place
        entry = Entry(device, boot, seq, Happening.STARTED, None, None, None)
        taken = await take_past(self._core, entry, unread)
        if taken is not None and not taken.gap:
            tell(unread)
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
        try:
            judged = await enter_pin(self._core, device, message.pin, message.compartment, message.id)
        except UnknownDeviceError:
            return
        sent = judged.command is not None and await self._outbox.send(judged.command)
        answer = self._new(
            PinAnswer,
            about=message.id,
            verdict=judged.verdict,
            compartment=judged.command.compartment_code if judged.command else None,
            closed_seconds=judged.closed_seconds,
        )
        await self._publish(device, answer)
        if judged.command is not None and sent:
            await self._core.db.together(commands.mark_sent, judged.command.id)

    async def _send_out(self) -> None:
        if self._mqtt is None:
            await asyncio.sleep(AWAY_SECONDS)
        else:
            await self._outbox.look()

    async def _confirm(self, device: str, version: int) -> None:
        async with self._core.db.connection() as connection:
            await rosters.confirm(connection, device, version)

    async def _fold(self) -> None:
        """Heartbeats of many boxes in one statement, and the service's clock back to each."""
        await asyncio.sleep(FOLD_SECONDS)
        refusals, self._refusals = self._refusals, {}
        for device, refusal in refusals.items():
            _log_refusal(device, refusal)
        # In one order, so that two gateways that heard the same boxes never wait for each other in a circle.
        beats, self._beats = dict(sorted(self._beats.items())), {}
        presences, self._presences = dict(sorted(self._presences.items())), {}
        if not beats and not presences:
            return
        async with self._core.db.connection() as connection:
            committed = await presence.save(
                connection,
                [Beat(device, beat.boot, beat.seq, beat.software, beat.open_doors) for device, beat in beats.items()],
            )
            if presences:
                await presence.note(connection, presences)
            held = [(device, beat.roster) for device, beat in beats.items() if beat.roster is not None]
            compared = await rosters.compare(connection, held) if held else {}
        # Pages show who is there and when it was last heard; and a roster may be to be made, by whoever hears it first.
        self._core.db.ring()
        for device, version in held:
            if device in compared and not compared[device].believed:
                self._dropped.note_roster(device, version)
            if device in compared and compared[device].unconfirmed:
                self._errands.put(device, partial(self._confirm, device, version))  # its own word for that was lost
        self._answer(self._answer_beats(beats, committed, compared))

    async def _answer_beats(
        self, beats: dict[str, Heartbeat], committed: list[int | None], compared: dict[str, Compared]
    ) -> None:
        environment = self._core.environment
        for (device, beat), seq in zip(beats.items(), committed, strict=True):
            if seq is None:
                continue
            roster = beat.roster if device in compared and compared[device].leased else None
            ack = self._new(Ack, boot=beat.boot, seq=seq, about=beat.id, environment=environment, roster=roster)
            await self._publish(device, ack)
            if beat.seq > seq:
                await self._publish(device, self._new(Resend, boot=beat.boot, seq=seq))

    async def _publish(self, device: str, message: Message, expiry: int | None = None) -> bool:
        """Whether the broker has it."""
        if self._mqtt is None:
            return False
        try:
            await self._mqtt.publish(topic(device, type(message)), encode(message), qos=message.qos, expiry=expiry)
        except BrokerError as error:
            log.warning("message_not_sent", device=device, kind=message.kind, cause=repr(error))
            return False
        return True

    def _new[M: Message](self, kind: type[M], **fields: Any) -> M:
        return kind(id=self._core.new_id("msg"), at=datetime.now(UTC), **fields)

    def _answer(self, answering: Coroutine[Any, Any, None]) -> None:
        """Answer many boxes, while the next ones are heard."""
        if len(self._answers) >= ANSWERS:
            answering.close()  # no box waits for an answer forever: it asks again
            DEVICE_MESSAGES_DROPPED.labels(Ack.kind).inc()
        else:
            start(self._answers, guarded(answering))


def _log_refusal(device: str, refusal: RefusedByBox) -> None:
    """For a person, without digits: firmware that repeats what was typed must not bring a PIN into the log."""
    about = refusal.about if refusal.about and _OURS.fullmatch(refusal.about) else None
    log.warning("box_refused", device=device, about=about, reason=re.sub("[0-9]", "#", refusal.reason[:200]))


def _entry(device: str, message: Journaled) -> Entry:
    return Entry(
        device,
        message.boot,
        message.seq,
        message.happening,
        message.compartment,
        message.command,
        message.reason,
        message.at,
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
