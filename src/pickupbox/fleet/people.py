"""Loaders, customers and an operator: the life of one shipment, from its reservation until its compartment is free."""

import asyncio
import random
from dataclasses import dataclass
from enum import Enum, auto

from pickupbox.domain.errors import Conflict, TemporarilyUnavailable
from pickupbox.domain.lifecycle import Event
from pickupbox.fleet.figures import Figures, Outcome
from pickupbox.fleet.shop import Shop, Story
from pickupbox.fleet.station import DOOR_SECONDS, Station
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.removal import confirm_empty, open_for_removal

LIFE_SECONDS = 180.0
CUT_SECONDS = (3.0, 8.0)
ARRIVAL_SECONDS = (0.1, 1.0)
AGAIN_SECONDS = (2.0, 4.0)  # not sooner: five tries without an answer close the keypad for a minute
CONFIRM_SECONDS = 20.0


class SurpriseError(Exception):
    """What people find behind a door is not what must be there."""


class Trouble(Enum):
    """What goes wrong on purpose, once in a life."""

    WRONG_PIN = auto()
    CABLE_CUT = auto()
    LOCK_JAMS = auto()
    CANCELLED = auto()


class Leg(Enum):
    LOADING = auto()
    PICKUP = auto()


@dataclass(frozen=True, slots=True)
class Fate:
    trouble: Trouble | None = None
    leg: Leg = Leg.LOADING  # at which of the two visits it strikes


def any_fate(faults: float) -> Fate:
    if random.random() >= faults:  # noqa: S311 - people, no secret
        return Fate()
    return Fate(random.choice(list(Trouble)), random.choice(list(Leg)))  # noqa: S311


@dataclass
class Life:
    core: Core
    operator: Caller
    shop: Shop
    station: Station
    figures: Figures
    fate: Fate
    story: Story | None = None

    async def live(self, order: str) -> None:
        self.station.free -= 1
        self.figures.begun += 1
        outcome: Outcome | None = Outcome.BROKEN_OFF
        try:
            async with asyncio.timeout(LIFE_SECONDS):
                outcome = await self._reserve(order)
        except TimeoutError:
            outcome = Outcome.STUCK
            told = sorted(self.story.told) if self.story else "no answer"
            self._tell(order, f"after {LIFE_SECONDS:.0f} s no further than {told}, {self.fate}")
        except Exception as error:  # noqa: BLE001 - whatever it is, the street goes on; the end tells of it
            outcome = Outcome.STUCK
            self._tell(order, repr(error))
        finally:
            if outcome is None:
                self.figures.begun -= 1
                self.figures.no_room += 1
            else:
                self.figures.outcomes[outcome] += 1
            if outcome not in (Outcome.STUCK, Outcome.BROKEN_OFF):  # else something may lie there still
                self.station.free += 1

    def _tell(self, order: str, text: str) -> None:
        self.figures.troubles.append(f"{order} at {self.station.box_id}: {text}")

    async def _reserve(self, order: str) -> Outcome | None:
        self.story = story = await self.shop.reserve(self.station.box_id, order)
        if story is None:
            return None
        self.station.pins.add(story.pin)
        try:
            outcome = await self._hand_over(story)
        finally:
            self.station.pins.discard(story.pin)
            self.shop.forget(story)
        if outcome is Outcome.FAULT:
            self._tell(order, "a fault that nobody meant")
        return outcome

    async def _hand_over(self, story: Story) -> Outcome:
        if not await self._visit(story, Leg.LOADING):
            return await self._end(story)
        if story.compartment in self.station.doors.holding:
            raise SurpriseError(f"the loader finds a parcel in {story.compartment}")
        self.station.doors.holding.add(story.compartment)
        await self.station.close(story.compartment)
        if await story.tells(Event.FAULT, Event.LOADED) is Event.FAULT or not await self._visit(story, Leg.PICKUP):
            return await self._end(story)
        if story.compartment not in self.station.doors.holding:
            raise SurpriseError(f"the customer finds nothing in {story.compartment}")
        self.station.doors.holding.discard(story.compartment)
        await self.station.close(story.compartment)
        if await story.tells(Event.FAULT, Event.DOOR_AVAILABLE) is Event.FAULT:
            return await self._end(story)
        return Outcome.COLLECTED

    async def _visit(self, story: Story, leg: Leg) -> bool:
        """Someone comes and types the PIN until the door opens. False: it opens no more, for a fault or a cancel."""
        await asyncio.sleep(_between(ARRIVAL_SECONDS))
        if self.fate.trouble is not None and self.fate.leg is leg:
            await self._trouble(story, self.fate.trouble)
        while not story.told & {Event.FAULT, Event.CANCELLED}:
            if await self.station.come_in(story.pin, story.compartment):
                return True
            await asyncio.sleep(_between(AGAIN_SECONDS))
        return False

    async def _trouble(self, story: Story, trouble: Trouble) -> None:
        match trouble:
            case Trouble.WRONG_PIN:
                self.figures.wrong_pins += 1
                await self.station.type(self.station.wrong_pin(), story.compartment)
            case Trouble.CABLE_CUT:
                self.figures.cables_cut += 1
                self.station.cut_cable(_between(CUT_SECONDS))
            case Trouble.LOCK_JAMS:
                self.station.doors.jammed.add(story.compartment)
            case Trouble.CANCELLED:
                await self.shop.cancel(story)
                await story.tells(Event.CANCELLED)

    async def _end(self, story: Story) -> Outcome:
        """The shipment ended otherwise; its compartment becomes free again."""
        told = await story.tells(Event.FAULT, Event.CANCELLED)
        if told is Event.FAULT or story.compartment in self.station.doors.holding:
            await self._remove(story)
        await story.tells(Event.DOOR_AVAILABLE)
        if told is Event.CANCELLED:
            return Outcome.CANCELLED
        return Outcome.JAMMED if self.fate.trouble is Trouble.LOCK_JAMS else Outcome.FAULT

    async def _remove(self, story: Story) -> None:
        """The operator opens, empties, closes and confirms, as often as it takes."""
        doors, code = self.station.doors, story.compartment
        doors.jammed.discard(code)
        while Event.DOOR_AVAILABLE not in story.told:
            try:
                await open_for_removal(self.core, self.operator, story.id)
                async with asyncio.timeout(DOOR_SECONDS):
                    await doors.opened[code].wait()
                doors.holding.discard(code)
                await self.station.close(code)
                async with asyncio.timeout(CONFIRM_SECONDS):
                    await self._confirm(story)
            except (TimeoutError, TemporarilyUnavailable):
                await asyncio.sleep(_between(AGAIN_SECONDS))
            else:
                return

    async def _confirm(self, story: Story) -> None:
        while True:
            try:
                await confirm_empty(self.core, self.operator, story.id)
            except Conflict:  # the door's last word is still under way
                await asyncio.sleep(0.5)
            else:
                return


def _between(seconds: tuple[float, float]) -> float:
    return random.uniform(*seconds)  # noqa: S311 - people, no secret
