"""The program in the box: what joins keypad, doors, journal and link."""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version

import pickupbox.box.keypad as pad
from pickupbox.box.alone import Alone
from pickupbox.box.cabinet import Cabinet
from pickupbox.box.cable import Cable
from pickupbox.box.clock import ServiceClock, ticks
from pickupbox.box.doors import Happened
from pickupbox.box.drivers import Driver
from pickupbox.box.drivers.virtual import VirtualDriver
from pickupbox.box.journal import Journal, JournalError
from pickupbox.box.link import Link, new_id
from pickupbox.box.settings import BoxSettings
from pickupbox.devices.messages import (
    Ack,
    Heartbeat,
    Message,
    Open,
    PinAnswer,
    PinEntered,
    RefusedByService,
    Roster,
    RosterTaken,
    Simulated,
)
from pickupbox.domain.doors import Happening, Simulation, Verdict

log = logging.getLogger(__name__)

PIN_SECONDS = 10
KEEP_SECONDS = 60.0
ROSTER_SECONDS = 60
STALLED_SECONDS = 1.0
KEPT = "keypad"
NO_ANSWER = "no_answer"


class Box:
    """One box. `show` is told what the keypad's display says: a Verdict, or NO_ANSWER."""

    def __init__(
        self,
        settings: BoxSettings,
        driver: Driver,
        show: Callable[[str], None] | None = None,
        cable: Cable | None = None,
    ) -> None:
        self._settings = settings
        self._show = show or (lambda text: log.info("keypad: %s", text))
        self._software = f"pickupbox {version('pickupbox')}"
        self._clock = ServiceClock()
        self.journal = Journal(settings.journal, settings.journal_entries)
        self.alone = Alone(self.journal, self._clock)
        self.cabinet = Cabinet(settings.compartments, driver, self.journal, self._happened)
        self.link = Link(settings, self.journal, self._clock, self._heartbeat, self._receive, cable or Cable())
        self.throttle = pad.from_text(self.journal.kept(KEPT), ticks())
        self._driver = driver
        self._simulated: dict[str, datetime] = {}  # when each virtual compartment was last moved by a simulated event
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
            roster=self.alone.version,
        )

    def _happened(self, happened: list[Happened]) -> None:
        """What the doors did is in the journal."""
        self.link.wake()
        try:
            self.alone.note(happened)
        except JournalError as error:
            log.error("a collected parcel could not be noted: %s", error)  # noqa: TRY400 - the journal has it too

    def _receive(self, message: Message) -> None:
        match message:
            case Open():
                self._open(message)
            case PinAnswer():
                if self._asking is not None and self._asking[0] == message.about and not self._asking[1].done():
                    self._asking[1].set_result(message)
            case Simulated():
                self._simulate(message)
            case Ack():
                self.alone.lease(message)
            case Roster():
                if self.alone.hear(message):
                    taken = RosterTaken(id=new_id(), at=datetime.now(UTC), version=message.version)
                    self.link.say(taken, expiry_seconds=ROSTER_SECONDS)
            case RefusedByService():
                log.warning("the service refused %s: %s", message.about, message.reason[:200])
            case _:
                self.link.refuse(message.id, f"this box does not take {message.kind!r}")

    def _simulate(self, message: Simulated) -> None:
        if not isinstance(self._driver, VirtualDriver) or message.compartment not in self.cabinet.doors:
            self.link.refuse(message.id, "this box has no such virtual door")
        elif message.at >= self._simulated.get(message.compartment, message.at):
            self._simulated[message.compartment] = message.at
            self._driver.simulate(message.compartment, filled=message.simulation is Simulation.FILL)

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

    @property
    def typed(self) -> pad.Typed:
        """What stands on the display; what was typed too long ago does not count any more."""
        return self._typed if ticks() - self._typed.last_key <= pad.TYPING_SECONDS else pad.Typed()

    @property
    def asks(self) -> bool:
        """Whether a PIN is with the service."""
        return self._asking is not None

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
            return self._judge_alone(entered)
        answer: asyncio.Future[PinAnswer] = asyncio.get_running_loop().create_future()
        self._asking = question.id, answer
        patience = ticks() + PIN_SECONDS
        self._asked = question.id, patience
        try:
            async with asyncio.timeout(PIN_SECONDS):
                return self._count(await answer)
        except TimeoutError:
            if self._asked[0] != question.id:
                return Verdict.OPENING  # its door was opened: only the words are missing
            self._asked = ("", 0.0)  # an answer that comes now opens nothing any more
            if ticks() > patience + STALLED_SECONDS:
                return NO_ANSWER  # the board stood still meanwhile: who typed the PIN may be gone
            return self._judge_alone(entered)
        finally:
            self._asking = None

    def _judge_alone(self, entered: pad.Entered) -> str:
        """The service does not answer. A PIN that is not on the roster may be right: nobody says no."""
        opens = self.alone.judge(entered.pin, entered.compartment)
        if opens is None or not self.journal.has_room:
            self._set_throttle(pad.refused(self.throttle, ticks()))
            return NO_ANSWER
        try:
            self.cabinet.open(*opens)
        except JournalError as error:
            log.error("the door stays closed: %s", error)  # noqa: TRY400 - the reason is enough
            return NO_ANSWER
        self._set_throttle(pad.opened(self.throttle))
        return Verdict.OPENING

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
        self._set_throttle(counted)
        return answer.verdict

    def _set_throttle(self, counted: pad.Throttle) -> None:
        if counted != self.throttle:
            self.throttle = counted
            self._keep_throttle()
