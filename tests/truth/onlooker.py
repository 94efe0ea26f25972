"""What the box may do by itself, as an onlooker knows it who reads every message and has the true time (0016).

He knows nothing of how the box decides. What it held when it was asked, when its lease had been renewed and how well it
could know the time follow from what was sent and what arrived. All times are in unix seconds.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pickupbox.box.doors import Happened
from pickupbox.devices.messages import Ack, Direction, Message, Open, PinAnswer, Roster
from pickupbox.domain.doors import Happening, Purpose
from pickupbox.domain.grants import Grant, read_grant, read_offline_command

LEASE = 15 * 60.0
ROUND_TRIP = 10.0  # an answer that took longer says nothing about the time
DRIFT = 0.0001
MOMENT = 1.0  # within that of a limit the box may judge either way

OVER = "its lease is over"
RESERVED_TOO_LONG = "the reservation is over"
TOO_LATE = "the pickup time is over"
COLLECTED = "it was collected already"
PROTECTED = "it is still protected"
READY = "the customer may come by now"


@dataclass
class Onlooker:
    rosters: dict[int, dict[str, Grant]] = field(default_factory=dict)  # by version and mark, as the service sent them
    handed_over: set[str] = field(default_factory=set)  # marks of parcels that the box knows to be collected
    leased: dict[int, float] = field(default_factory=dict)  # until when, by version
    promised: dict[int, float] = field(default_factory=dict)  # the same, with answers that are under way
    _sent: dict[str, float] = field(default_factory=dict)  # what the box sent since it was switched on
    _sample: tuple[float, float] | None = None  # the last question and answer that told the box the time

    def box_is_switched_on(self) -> None:
        """What was only in its memory is gone."""
        for gone in (self.leased, self.promised, self._sent):
            gone.clear()
        self._sample = None

    def sees(self, message: Message, at: float) -> None:
        """Somebody sends it."""
        if message.direction is Direction.UP:
            self._sent[message.id] = at
        if isinstance(message, Roster):
            grants = map(read_grant, message.grants)
            self.rosters.setdefault(message.version, {}).update({grant.mark: grant for grant in grants})
        elif isinstance(message, Ack):
            self._renew(self.promised, message)

    def sees_arrive(self, message: Message, at: float) -> None:
        """It reaches the box."""
        if isinstance(message, Ack):
            self._renew(self.leased, message)
        if isinstance(message, Ack | Open | PinAnswer) and message.about in self._sent:
            asked = self._sent[message.about]
            if at - asked <= ROUND_TRIP:
                self._sample = asked, at

    def _renew(self, leases: dict[int, float], ack: Ack) -> None:
        asked = self._sent.get(ack.about)
        if asked is not None and ack.roster is not None:
            leases[ack.roster] = max(leases.get(ack.roster, 0.0), asked + LEASE)

    def reads(self, happened: Iterable[Happened]) -> None:
        """The box writes it into its journal."""
        for one in happened:
            own = read_offline_command(one.command or "")
            if own is not None and own[0] is Purpose.PICK_UP and one.happening is Happening.DOOR_CLOSED:
                self.handed_over.add(own[1])

    def grant(self, version: int, mark: str) -> Grant | None:
        return self.rosters.get(version, {}).get(mark)

    def doubt(self, at: float) -> float | None:
        """By how many seconds the box may be wrong about the time; None: it does not know it at all."""
        if self._sample is None:
            return None
        asked, answered = self._sample
        return answered - asked + 2 * DRIFT * (at - asked)

    def why_not(self, grant: Grant, purpose: Purpose, version: int, at: float) -> str | None:
        """What speaks against opening for this grant, for this purpose, now."""
        if grant.purpose is Purpose.LOAD:
            if at >= self.leased.get(version, 0.0):
                return OVER
            return RESERVED_TOO_LONG if at >= grant.until.timestamp() else None
        if grant.mark in self.handed_over:
            return COLLECTED
        doubt = self.doubt(at)
        if doubt is not None and at > grant.until.timestamp() + doubt:
            return TOO_LATE
        if purpose is Purpose.PICK_UP:
            return PROTECTED if at < grant.opens_from.timestamp() else None
        return READY if at >= grant.opens_from.timestamp() else None

    def must_open(self, grant: Grant, version: int, at: float) -> bool:
        """Whether whoever stands there with the right PIN would be sent away for nothing.

        Not asked of a grant to load whose door has been open: there the box knows more than the wire tells.
        """
        doubt, until = self.doubt(at), grant.until.timestamp()
        if grant.purpose is Purpose.LOAD:
            return doubt is not None and at + doubt + MOMENT < min(self.leased.get(version, 0.0), until)
        if grant.mark in self.handed_over or at > until:
            return False
        opens_from = grant.opens_from.timestamp()
        return opens_from == 0 or (doubt is not None and at >= opens_from + doubt + MOMENT)

    def may_open_later(self, mark: str, version: int, at: float) -> bool:
        """Whether a box that holds this roster and hears nothing more may still open for the shipment.

        A parcel's grant has no end: after a power cut the box may not know the time.
        """
        grant = self.grant(version, mark)
        if grant is None or mark in self.handed_over:
            return False
        if grant.purpose is not Purpose.LOAD:
            return True
        return at < min(self.promised.get(version, 0.0), grant.until.timestamp())
