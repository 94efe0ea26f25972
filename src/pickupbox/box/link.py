"""The link: one MQTT 5 session with the broker, for as long as the box lives.

The journal goes up in order, at most 50 entries ahead of the acknowledgements. PUBACK says only that the broker has a
message; an entry counts as delivered when the service acknowledges it. After 5 s without an acknowledgement the oldest
entry is sent again, alone, as a question: the answer says how far the service is. The pause doubles to a minute, so
that a service that is away is not drowned by its boxes when it comes back.
"""

import asyncio
import logging
import random
from collections.abc import Callable
from datetime import UTC, datetime
from secrets import token_hex

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from pickupbox.box.cable import Cable
from pickupbox.box.clock import ServiceClock, ticks
from pickupbox.box.identity import Identity
from pickupbox.box.journal import Entry, Journal, JournalError
from pickupbox.box.settings import BoxSettings
from pickupbox.devices import wire
from pickupbox.devices.messages import (
    Ack,
    Certificate,
    Direction,
    Heartbeat,
    Journaled,
    Message,
    Open,
    PinAnswer,
    Presence,
    RefusedByBox,
    RenewalAsked,
    Resend,
)
from pickupbox.devices.values import WireError

log = logging.getLogger(__name__)

WINDOW = 50
ACK_SECONDS, ACK_SECONDS_MOST = 5.0, 60.0
RESEND_SECONDS = 1.0
CONNECT_SECONDS, CONNECT_SECONDS_MOST = 0.5, 60.0
SESSION_SECONDS = 86_400
KEEPALIVE_SECONDS = 30
MESSAGES = 200
PUBACK_SECONDS = 10.0
GOODBYE_SECONDS = 2.0
RENEWAL_SECONDS = 3600


class _Ended(Exception):  # noqa: N818 - not an error: the way out of a session
    pass


def new_id() -> str:
    return token_hex(12)


class Link:
    def __init__(
        self,
        settings: BoxSettings,
        journal: Journal,
        clock: ServiceClock,
        heartbeat: Callable[[], Heartbeat],
        receive: Callable[[Message], None],
        cable: Cable,
    ) -> None:
        self._settings = settings
        self._journal = journal
        self._clock = clock
        self._heartbeat = heartbeat
        self._receive = receive
        self._cable = cable
        file = settings.identity_file if settings.mqtt_tls else None
        self._identity = Identity(file, settings.device) if file else None
        self.connected = False
        self._stop = asyncio.Event()
        self._wake = asyncio.Event()
        self._outgoing: asyncio.Queue[tuple[Message, int]] = asyncio.Queue(MESSAGES)
        self._sent = journal.acked
        self._window = WINDOW
        self._patience = ACK_SECONDS
        self._answer_due: float | None = None
        self._resent = (0, 0.0)  # after which number we last sent again because we were asked, and when

    def wake(self) -> None:
        """There is something new in the journal."""
        self._wake.set()

    def stop(self) -> None:
        """Say goodbye and end `run`."""
        self._stop.set()

    def say(self, message: Message, expiry_seconds: int) -> bool:
        """Send what is not journaled, now or never; False if it cannot be sent."""
        if not self.connected or self._outgoing.full():
            return False
        self._outgoing.put_nowait((message, expiry_seconds))
        return True

    async def run(self) -> None:
        """Connect, again and again, until it is stopped."""
        pause = CONNECT_SECONDS
        while not self._stop.is_set():
            began = ticks()
            try:
                await self._session()
            except* (aiomqtt.MqttError, OSError) as errors:  # OSError: a certificate's file, the network
                log.warning("no link: %s", errors.exceptions[0])
            except* _Ended:
                pass
            finally:
                self.connected = False
            pause = CONNECT_SECONDS if ticks() - began > CONNECT_SECONDS_MOST else min(pause * 2, CONNECT_SECONDS_MOST)
            try:
                async with asyncio.timeout(pause * random.uniform(0.5, 1)):  # noqa: S311 - spreads a fleet, no secret
                    await self._stop.wait()
            except TimeoutError:
                continue

    async def _session(self) -> None:
        if not await self._cable.plugged(self._stop):
            return
        async with self._client() as client:
            client.pending_calls_threshold = MESSAGES
            granted = await client.subscribe(wire.topics_of(self._settings.device, Direction.DOWN), qos=1)
            if any(getattr(code, "is_failure", False) for code in granted):
                raise aiomqtt.MqttError("the broker refused the subscription")
            if self._identity is not None:
                self._identity.let_in()
            self._begin()
            await self._publish(client, _presence(online=True), retain=True)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._hear(client))
                tasks.create_task(self._send_journal(client))
                tasks.create_task(self._send_others(client))
                tasks.create_task(self._beat(client))
                tasks.create_task(self._say_goodbye(client))
                tasks.create_task(self._cable.carry(client))
                if self._identity is not None:
                    tasks.create_task(self._renew(self._identity))

    def _client(self) -> aiomqtt.Client:
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = SESSION_SECONDS
        presence = wire.topic(self._settings.device, Presence)
        return aiomqtt.Client(
            self._settings.mqtt_host,
            self._settings.mqtt_port,
            identifier=self._settings.device,
            protocol=aiomqtt.ProtocolVersion.V5,
            clean_start=False,
            properties=properties,
            will=aiomqtt.Will(presence, wire.encode(_presence(online=False)), qos=1, retain=True),
            keepalive=KEEPALIVE_SECONDS,
            timeout=PUBACK_SECONDS,
            tls_context=self._settings.tls(self._identity.pair() if self._identity else None),
            max_queued_incoming_messages=MESSAGES,
            max_queued_outgoing_messages=MESSAGES,
            max_inflight_messages=MESSAGES,
        )

    def _begin(self) -> None:
        """A new connection: what is not acknowledged goes again, and what was only for the moment is gone."""
        while not self._outgoing.empty():
            self._outgoing.get_nowait()
        self._sent = self._journal.acked
        self._answered()
        self.connected = True

    async def _publish(
        self, client: aiomqtt.Client, message: Message, expiry_seconds: int | None = None, *, retain: bool = False
    ) -> None:
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        if expiry_seconds is not None:
            properties.MessageExpiryInterval = expiry_seconds
        self._clock.sent(message.id, ticks())
        self._cable.passes(message)
        topic = wire.topic(self._settings.device, type(message))
        await client.publish(topic, wire.encode(message), qos=1, retain=retain, properties=properties)

    async def _send_journal(self, client: aiomqtt.Client) -> None:
        while True:
            self._wake.clear()
            room = self._window - (self._sent - self._journal.acked)
            entries = self._journal.after(self._sent, room) if room > 0 else []
            if entries:
                self._sent = entries[-1].seq
                self._answer_due = self._answer_due or ticks() + self._patience
                # Started in this order, so published in this order; the PUBACKs are awaited together.
                await asyncio.gather(*(self._publish(client, _journaled(self._journal.boot, one)) for one in entries))
            elif not await self._woken():
                self._sent, self._window = self._journal.acked, 1
                self._patience, self._answer_due = min(self._patience * 2, ACK_SECONDS_MOST), None

    async def _woken(self) -> bool:
        """Wait for an entry or an answer; False: the answer is overdue."""
        try:
            async with asyncio.timeout(None if self._answer_due is None else max(0.0, self._answer_due - ticks())):
                await self._wake.wait()
        except TimeoutError:
            return False
        return True

    def _answered(self) -> None:
        self._window, self._patience = WINDOW, ACK_SECONDS
        self._answer_due = None if self._sent <= self._journal.acked else ticks() + self._patience
        self._wake.set()

    async def _send_others(self, client: aiomqtt.Client) -> None:
        while True:
            message, expiry_seconds = await self._outgoing.get()
            await self._publish(client, message, expiry_seconds)

    async def _beat(self, client: aiomqtt.Client) -> None:
        while not self._stop.is_set():  # a heartbeat behind the goodbye would take it back
            await self._publish(client, self._heartbeat(), expiry_seconds=60)
            await asyncio.sleep(self._settings.heartbeat_seconds)

    async def _say_goodbye(self, client: aiomqtt.Client) -> None:
        await self._stop.wait()
        client.timeout = GOODBYE_SECONDS  # for the disconnect that follows, too
        await self._publish(client, _presence(online=False), retain=True)
        raise _Ended

    async def _renew(self, identity: Identity) -> None:
        def ask(request: str) -> None:
            question = RenewalAsked(id=new_id(), at=datetime.now(UTC), request=request)
            self.say(question, expiry_seconds=RENEWAL_SECONDS)

        await identity.renewed(lambda: self._clock.latest(ticks()), ask)
        raise _Ended  # the next session begins with the new pair

    async def _hear(self, client: aiomqtt.Client) -> None:
        async for heard in client.messages:
            payload = heard.payload if isinstance(heard.payload, bytes) else b""
            try:
                device, direction, kind = wire.read_topic(str(heard.topic))
                if (device, direction) == (self._settings.device, Direction.DOWN):
                    self._take(wire.decode(direction, kind, payload))
            except WireError as error:
                self.refuse(wire.id_of(payload), str(error))

    def refuse(self, about: str | None, reason: str) -> None:
        log.warning("refused %s: %s", about, reason)
        self.say(RefusedByBox(id=new_id(), at=datetime.now(UTC), about=about, reason=reason[:200]), expiry_seconds=60)

    def _take(self, message: Message) -> None:
        if not self._cable.passes(message):
            return
        if isinstance(message, Ack | Open | PinAnswer) and message.about is not None:
            self._clock.answered(message.about, message.at, ticks())
        try:
            if isinstance(message, Ack):
                self._acknowledged(message)
                if message.roster is not None:
                    self._receive(message)
            elif isinstance(message, Resend):
                self._asked_again(message)
            elif isinstance(message, Certificate) and self._identity is not None:
                self._identity.hear(message.chain)
            else:
                self._receive(message)
        except JournalError as error:
            self.refuse(message.id, str(error))

    def _acknowledged(self, ack: Ack) -> None:
        if ack.boot != self._journal.boot:
            return
        if ack.seq > self._journal.last:
            log.error("the service has %d, this journal ends at %d: a new one begins", ack.seq, self._journal.last)
            self._journal.begin_anew()
            self._sent = 0
        elif ack.seq > self._journal.acked:
            self._journal.drop(ack.seq)
            self._sent = max(self._sent, ack.seq)
        self._answered()

    def _asked_again(self, resend: Resend) -> None:
        if resend.boot != self._journal.boot or resend.seq >= self._sent:
            return
        # Each entry behind a gap is answered with a request of its own; one of them is enough.
        seq, tick = self._resent
        if resend.seq != seq or ticks() - tick > RESEND_SECONDS:
            self._resent = resend.seq, ticks()
            self._sent = max(resend.seq, self._journal.acked)
            self._answered()


def _presence(*, online: bool) -> Presence:
    return Presence(id=new_id(), at=datetime.now(UTC), online=online)


def _journaled(boot: str, entry: Entry) -> Journaled:
    """The entry as it is sent this time: the id is the transmission's, boot and number are the entry's."""
    happened = entry.happened
    return Journaled(
        id=new_id(),
        at=entry.at,
        boot=boot,
        seq=entry.seq,
        happening=happened.happening,
        compartment=happened.compartment,
        command=happened.command,
        reason=happened.reason,
    )
