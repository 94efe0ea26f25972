"""The physical truth: what really lies behind each door, how it got there, and who stands before it.

The service hears of it only through the box's journal. So each thing remembers the opening through which it came in:
once the service has committed the report of that opening, it must act as if something lies there. What nobody could see
it need not know: a customer who leaves his parcel inside, or a door that was forced while the box had no power.
"""

from dataclasses import dataclass, field
from datetime import datetime
from random import Random

from pickupbox.box.doors import Door, Happened
from pickupbox.box.drivers.virtual import VirtualDriver
from pickupbox.devices.messages import Message, Open, PinEntered
from pickupbox.domain.doors import Happening, Purpose
from pickupbox.domain.grants import mark_of, read_offline_command

JUNK = "what a passer-by left"
PIN_SECONDS = 10.0  # so long somebody waits before the door
TELL_OF_OPENING = (Happening.DOOR_OPENED, Happening.LOCK_FAILED)
SWINGS = (Happening.DOOR_OPENED, Happening.DOOR_CLOSED)


@dataclass(frozen=True, slots=True)
class Order:
    """A shipment as its people know it."""

    id: str
    pin: str
    code: str


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
        if command is None:
            purpose, order = self._alone(door.command)
            typed: Typed | None = self.keyed
        else:
            assert command.compartment == door.compartment, "the command was for another door"
            typed = self.typed[command.about] if command.about else None
            purpose, order = command.purpose, self._ordered(typed.pin) if typed else self.removals[command.id]
            assert typed is None or typed.valid, f"the PIN of {order.id} was not valid when it was typed"
        assert order.code == door.compartment, f"{order.id} is not behind {door.compartment}"
        if door.tries == 1:
            assert door.command not in self.used, "one command releases a lock twice"
            assert command is None or now <= command.expires_at, "a late command releases a lock"
            assert typed is None or moment - typed.moment <= PIN_SECONDS + 1, "nobody waits before the door"
            self.released.append(order.id)
        self.used.add(door.command)
        # One that was forced a moment ago the box takes for its own opening, and whoever asked for it stands there.
        if self.doors.is_open(door.compartment) or door.compartment not in self.doors.jammed:
            self._swings_open(door.compartment, purpose, order)

    def _ordered(self, pin: str) -> Order:
        order = next((one for one in self.orders if one.pin == pin), None)
        assert order is not None, "a PIN that was never given opens a door"
        return order

    def _alone(self, command: str) -> tuple[Purpose, Order]:
        """The box opened by itself, for the PIN that was typed last. What was cancelled meanwhile it cannot know."""
        own = read_offline_command(command)
        assert own is not None, "a lock is released by a command that nobody gave"
        order = self._ordered(self.keyed.pin)
        assert own[1] == mark_of(order.id), "the box opened by itself for another PIN"
        return own[0], order

    def force(self, code: str) -> None:
        if not self.doors.is_open(code):
            self.doors.force_door(code)
            self._swings_open(code)

    def _swings_open(self, code: str, purpose: Purpose | None = None, order: Order | None = None) -> None:
        self.openings[code] = Opening(code, len(self.written), purpose, order)
        if order is not None:
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
