"""The physical truth: what really lies behind each door, how it got there, and who stands before it.

The service hears of it only through the box's journal. So each thing remembers the opening through which it came in:
once the service has committed the report of that opening, it must act as if something lies there. What nobody could see
it need not know: a customer who leaves his parcel inside, or a door that was forced while the box had no power.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import Random

from pickupbox.box.doors import Door, Happened
from pickupbox.box.drivers.virtual import VirtualDriver
from pickupbox.devices.messages import Message, Open, PinEntered
from pickupbox.domain.doors import Happening, Purpose
from pickupbox.domain.grants import mark_of, read_offline_command
from tests.truth.onlooker import Onlooker

JUNK = "what a passer-by left"
PIN_SECONDS = 10.0  # so long somebody waits before the door
TRYING_SECONDS = 14.0  # and so long while its lock is tried
TELL_OF_OPENING = (Happening.DOOR_OPENED, Happening.LOCK_FAILED)
SWINGS = (Happening.DOOR_OPENED, Happening.DOOR_CLOSED)


@dataclass(frozen=True, slots=True)
class Order:
    """A shipment as its people know it."""

    id: str
    pin: str
    code: str

    @property
    def mark(self) -> str:
        return mark_of(self.id)


@dataclass(frozen=True, slots=True)
class Typed:
    pin: str
    moment: float
    valid: bool  # whether the PIN was that of a live shipment when it was typed


@dataclass(frozen=True, slots=True)
class Opening:
    """A door swung open; `after` is the last number that the journal had then."""

    code: str
    after: int
    purpose: Purpose | None = None
    order: Order | None = None
    at: datetime | None = None
    alone: bool = False  # the box opened by itself


@dataclass(frozen=True, slots=True)
class Thing:
    of: str  # the id of a shipment, or JUNK
    opening: Opening


@dataclass
class Truth:
    doors: VirtualDriver
    codes: tuple[str, ...]
    orders: list[Order] = field(default_factory=list)
    inside: dict[str, list[Thing]] = field(default_factory=dict)
    openings: dict[str, Opening] = field(default_factory=dict)  # the last of each door
    written: list[Happened] = field(default_factory=list)  # what the box journaled, from number 1
    commands: dict[str, Open] = field(default_factory=dict)  # every command that was ever sent
    removals: dict[str, Order] = field(default_factory=dict)  # by the id of the operator's command
    typed: dict[str, Typed] = field(default_factory=dict)  # by the id of the question
    used: set[str] = field(default_factory=set)  # commands
    released: list[str] = field(default_factory=list)  # the shipment of each, once per command
    collected: set[Order | None] = field(default_factory=set)  # closed the door after the pickup
    keyed: Typed = Typed("", 0.0, valid=False)  # the last that was typed
    swung: list[Opening] = field(default_factory=list)  # every opening that the box made
    onlooker: Onlooker = field(default_factory=Onlooker)
    judged: dict[str, tuple[Purpose, Order, Typed]] = field(
        default_factory=dict
    )  # the commands that the box gave itself
    disturbed: set[str] = field(default_factory=set)  # the shipments whose door has been open
    rosters_judged: set[int] = field(default_factory=set)
    loads_judged: list[Opening] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)  # what the box did by itself, and why it did not

    def __post_init__(self) -> None:
        self.inside = {code: [] for code in self.codes}

    def type(self, pin: str, moment: float, *, valid: bool) -> None:
        self.keyed = Typed(pin, moment, valid)

    def hear(self, message: Message) -> None:
        """Whatever anyone sends."""
        if isinstance(message, Open):
            self.commands[message.id] = message
        elif isinstance(message, PinEntered):
            self.typed[message.id] = self.keyed

    def release(self, door: Door, moment: float, now: datetime) -> None:
        """The box is about to release a lock: it must have been asked to, by someone who may and is still there."""
        assert door.command is not None, f"{door.compartment} is released for nobody"
        command = self.commands.get(door.command)
        assert command is None or command.compartment == door.compartment, "the command was for another door"
        purpose, order, typed = self._asked(door.command)
        assert order.code == door.compartment, f"{order.id} is not behind {door.compartment}"
        if door.tries == 1:
            assert door.command not in self.used, "one command releases a lock twice"
            assert command is None or now <= command.expires_at, "a late command releases a lock"
            assert typed is None or moment - typed.moment <= PIN_SECONDS + 1, "nobody waits before the door"
            self.released.append(order.id)
        assert typed is None or moment - typed.moment <= PIN_SECONDS + TRYING_SECONDS, "whoever waited is gone"
        self.used.add(door.command)
        # One that was forced a moment ago the box takes for its own opening, and whoever asked for it stands there.
        if self.doors.is_open(door.compartment) or door.compartment not in self.doors.jammed:
            self._swings_open(door.compartment, Opening(door.compartment, 0, purpose, order, now, command is None))

    def take_for_its_own(self, code: str, command: str, now: datetime) -> None:
        """The power went between a command and its lock, and the door had been forced a moment before.

        The box will take that for its own opening, and whoever asked for it stands there.
        """
        if command not in self.used:
            purpose, order, _ = self._asked(command)
            self.used.add(command)
            self.released.append(order.id)
            self._swings_open(code, Opening(code, 0, purpose, order, now, command not in self.commands))

    def _asked(self, command_id: str) -> tuple[Purpose, Order, Typed | None]:
        """Who asked for an opening, to do what; no PIN was typed for an operator's."""
        command = self.commands.get(command_id)
        if command is None:
            return self._alone(command_id)
        typed = self.typed[command.about] if command.about else None
        order = self._ordered(typed.pin) if typed else self.removals[command.id]
        assert typed is None or typed.valid, f"the PIN of {order.id} was not valid when it was typed"
        return command.purpose, order, typed

    def _ordered(self, pin: str) -> Order:
        order = next((one for one in reversed(self.orders) if one.pin == pin), None)
        assert order is not None, "a PIN that was never given opens a door"
        return order

    def _alone(self, command: str) -> tuple[Purpose, Order, Typed]:
        """The box opened by itself. What was cancelled meanwhile it cannot know."""
        assert command in self.judged, "a lock is released by a command that nobody gave"
        purpose, order, typed = self.judged[command]
        newest = next(one for one in reversed(self.orders) if one.code == order.code)
        assert newest is order, f"the box opens {order.code} for {order.id}, and it is {newest.id}'s by now"
        return purpose, order, typed

    def box_judges(self, pin: str, judged: tuple[str, str] | None, version: int, at: float) -> None:
        """The box has made up its mind by itself; a PIN that was never on its roster it cannot know."""
        order = next((one for one in reversed(self.orders) if one.pin == pin), None)
        grant = self.onlooker.grant(version, order.mark) if order else None
        own = read_offline_command(judged[1]) if judged else None
        if order is None or grant is None:
            assert judged is None, "the box opens by itself for a PIN that is not on its roster"
            self.seen["not on the roster"] += 1
        elif judged is None or own is None:
            sent_away = self.onlooker.must_open(grant, version, at)
            assert not sent_away or order.id in self.disturbed, f"the box sends away who comes for {order.id}"
            self.seen[self.onlooker.why_not(grant, grant.purpose, version, at) or "in doubt"] += 1
        else:
            why_not = self.onlooker.why_not(grant, own[0], version, at)
            assert why_not is None, f"the box opens by itself for {order.id}, to {own[0]}, and {why_not}"
            assert (pin, own[1]) == (self.keyed.pin, order.mark), "it opens by itself for another than who typed"
            self.judged[judged[1]] = own[0], order, self.keyed
            self.seen[own[0]] += 1

    def born(self, order: Order, roster: int, at: float) -> None:
        """The service gives a compartment to a new shipment: the box must not open it for one before."""
        for before in self.orders:
            late = before.code == order.code and self.onlooker.may_open_later(before.mark, roster, at)
            assert not late, f"{order.code} is given to {order.id}, and the box may still open it for {before.id}"
        self.orders.append(order)

    def force(self, code: str) -> None:
        if not self.doors.is_open(code):
            self.doors.force_door(code)
            self._swings_open(code, Opening(code, 0))

    def _swings_open(self, code: str, opening: Opening) -> None:
        self.openings[code] = replace(opening, after=len(self.written))
        self.disturbed |= {order.id for order in self.orders if order.code == code}
        if opening.order is not None:
            self.swung.append(self.openings[code])

    def stand_before(self, code: str, chance: Random, *, box_sees: bool) -> None:
        """Whoever the door opened for does what he came for."""
        opening, inside = self.openings[code], self.inside[code]
        if opening.purpose is Purpose.PICK_UP and opening.order in self.collected:
            inside.append(Thing(JUNK, opening))  # who comes back after the pickup leaves his waste
        elif opening.purpose in (Purpose.PICK_UP, Purpose.REMOVE):
            inside.clear()
        elif opening.order is not None:
            foreign = any(thing.of != opening.order.id for thing in inside)
            if opening.purpose is Purpose.CORRECT and chance.random() < 0.3:
                self.inside[code] = [thing for thing in inside if thing.of != opening.order.id]
            elif not inside and not foreign and chance.random() < 0.8:
                inside.append(Thing(opening.order.id, opening))
        elif chance.random() < 0.5:
            inside.clear()
        elif box_sees:
            inside.append(Thing(JUNK, opening))

    def close(self, code: str) -> None:
        self.doors.close_door(code)
        opening = self.openings[code]
        if opening.purpose is Purpose.PICK_UP:
            self.collected.add(opening.order)

    def is_known(self, opening: Opening, committed: int) -> bool:
        """Whether the service has committed a report of it."""
        return any(
            happened.compartment == opening.code and happened.happening in TELL_OF_OPENING
            for happened in self.written[opening.after : committed]
        )

    def swings(self) -> list[tuple[str | None, bool]]:
        """Door and whether it opened, as the box saw it."""
        seen = [one for one in self.written if one.happening in SWINGS]
        return [(one.compartment, one.happening is Happening.DOOR_OPENED) for one in seen]
