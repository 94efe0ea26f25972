"""The program in the box: what joins keypad, doors, journal and link."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version

import pickupbox.box.keypad as pad
from pickupbox.box.cabinet import Cabinet
from pickupbox.box.clock import ServiceClock, ticks
from pickupbox.box.doors import Happened
from pickupbox.box.drivers import Driver
from pickupbox.box.journal import Journal, JournalError
from pickupbox.box.link import Link, new_id
from pickupbox.box.settings import BoxSettings
from pickupbox.devices.wire import Happening, Heartbeat, Message, Open, PinAnswer, PinEntered, RefusedByService, Verdict

log = logging.getLogger(__name__)

PIN_SECONDS = 10
KEEP_SECONDS = 60.0
KEPT = "keypad"
NO_ANSWER = "no_answer"


class Box:
    """One box. `show` is told what the keypad's display says: a Verdict, or NO_ANSWER."""

    def __init__(self, settings: BoxSettings, driver: Driver, show: Callable[[str], None] | None = None) -> None:
        self._settings = settings
        self._show = show or (lambda text: log.info("keypad: %s", text))
        self._software = f"pickupbox {version('pickupbox')}"
        self._clock = ServiceClock()
        self.journal = Journal(settings.journal, settings.journal_entries)
        self.cabinet = Cabinet(settings.compartments, driver, self.journal, lambda: self.link.wake())
        self.link = Link(settings, self.journal, self._clock, self._heartbeat, self._receive)
        self.throttle = pad.from_text(self.journal.kept(KEPT), ticks())
        self._typed = pad.Typed()
        self._asked = ("", 0.0)  # the last PIN's question, and until when its door may open
        self._asking: tuple[str, asyncio.Future[PinAnswer]] | None = None

    async def run(self) -> None:
        """Until `stop`."""
        try:
            self.journal.write(
                [Happened(Happening.STARTED, reason="journal_damaged" if self.journal.damaged else None)]
            )
        except JournalError as error:
            log.error("the start could not be written down: %s", error)  # noqa: TRY400 - the reason is enough
        try:
            async with asyncio.TaskGroup() as tasks:
                loops = [
                    tasks.create_task(self.cabinet.run(self._settings.look_seconds)),
                    tasks.create_task(self._keep()),
                ]
                await self.link.run()
                for loop in loops:
                    loop.cancel()
        finally:
            self.journal.close()

    def stop(self) -> None:
        self.link.stop()

    async def _keep(self) -> None:
        """Time that passed counts after a restart, to the minute."""
        while True:
            await asyncio.sleep(KEEP_SECONDS)
            if self.throttle != pad.Throttle():
                self._keep_throttle()

    def _keep_throttle(self) -> None:
        try:
            self.journal.write([], {KEPT: pad.to_text(self.throttle, ticks())})
        except JournalError as error:
            log.error("the keypad's counters could not be written down: %s", error)  # noqa: TRY400

    def _heartbeat(self) -> Heartbeat:
        return Heartbeat(
            id=new_id(),
            at=datetime.now(UTC),
            boot=self.journal.boot,
            seq=self.journal.last,
            open_doors=self.cabinet.open_doors,
            software=self._software,
        )

    def _receive(self, message: Message) -> None:
        match message:
            case Open():
                self._open(message)
            case PinAnswer():
                if self._asking is not None and self._asking[0] == message.about and not self._asking[1].done():
                    self._asking[1].set_result(message)
            case RefusedByService():
                log.warning("the service refused %s: %s", message.about, message.reason[:200])
            case _:
                self.link.refuse(message.id, f"this box does not take {message.kind!r}")

    def _open(self, command: Open) -> None:
        if self.journal.knows(command.id):
            return
        if not self.journal.has_room:
            raise JournalError("journal_full")
        reason = self._why_not(command)
        if reason is None:
            self.cabinet.open(command.compartment, command.id)
        else:
            refusal = Happened(Happening.COMMAND_REFUSED, command.compartment, command.id, reason)
            self.journal.write([refusal], command=command.id)
            self.link.wake()

    def _why_not(self, command: Open) -> str | None:
        now = self._clock.latest(ticks())
        if command.compartment not in self.cabinet.doors:
            return "unknown_compartment"
        if now is None:
            return "clock_unknown"
        if now > command.expires_at:
            return "expired"
        if command.about is not None and not self._awaits(command.about):
            return "not_awaited"
        return None

    def _awaits(self, question: str) -> bool:
        """Whether whoever typed this PIN may still stand there; a PIN opens one door once."""
        asked, until = self._asked
        if question != asked or ticks() > until:
            return False
        self._asked = ("", 0.0)
        return True

    async def press(self, key: str) -> None:
        """A key of the keypad. The sixth digit of a PIN asks the service, and this waits for the answer."""
        now = ticks()
        if self._asking is not None:
            return
        if self.throttle.closed_seconds(now):
            self._show(Verdict.CLOSED)
            return
        needed = self.throttle.needs_compartment(now)
        self._typed, entered = pad.pressed(self._typed, key, now, with_compartment=needed)
        if entered is not None:
            self._show(await self._ask(entered))

    async def _ask(self, entered: pad.Entered) -> str:
        question = PinEntered(id=new_id(), at=datetime.now(UTC), pin=entered.pin, compartment=entered.compartment)
        if not self.link.say(question, expiry_seconds=PIN_SECONDS):
            return NO_ANSWER
        answer: asyncio.Future[PinAnswer] = asyncio.get_running_loop().create_future()
        self._asking = question.id, answer
        self._asked = question.id, ticks() + PIN_SECONDS
        try:
            async with asyncio.timeout(PIN_SECONDS):
                return self._count(await answer)
        except TimeoutError:
            return NO_ANSWER
        finally:
            self._asking = None

    def _count(self, answer: PinAnswer) -> Verdict:
        """What the answer does to the counters, kept before it is shown."""
        now = ticks()
        match answer.verdict:
            case Verdict.OPENING:
                counted = pad.opened(self.throttle)
            case Verdict.REFUSED:
                counted = pad.refused(self.throttle, now)
            case Verdict.CLOSED:
                counted = pad.told_closed(self.throttle, answer.closed_seconds or pad.CLOSED_SECONDS, now)
            case Verdict.COMPARTMENT_NEEDED:
                counted = pad.told_compartment_needed(self.throttle, now)
        if counted != self.throttle:
            self.throttle = counted
            self._keep_throttle()
        return answer.verdict
