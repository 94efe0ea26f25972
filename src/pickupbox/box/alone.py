"""What the box does by itself while the service is out of reach: it holds a roster, and knows how long that counts."""

import logging
from collections.abc import Iterable
from secrets import token_hex

from pickupbox.box import roster
from pickupbox.box.clock import ServiceClock, ticks
from pickupbox.box.doors import Happened
from pickupbox.box.journal import Journal
from pickupbox.box.roster import Now, Parts, purpose_now
from pickupbox.devices.messages import Ack, Roster
from pickupbox.domain.doors import Happening, Purpose
from pickupbox.domain.grants import LEASE, Grant, offline_command, read_offline_command

log = logging.getLogger(__name__)

KEPT = "roster"
ALL = 1_000_000


class Alone:
    def __init__(self, journal: Journal, clock: ServiceClock) -> None:
        self._journal = journal
        self._clock = clock
        self._held = roster.from_text(journal.kept(KEPT))
        self._parts = Parts()
        # In ticks, which begin anew when the board is switched on: then nobody knows how long it was off.
        self._leased_until = 0.0
        self._collect(entry.happened for entry in journal.after(0, ALL))

    @property
    def version(self) -> int:
        return self._held.version

    def hear(self, message: Roster) -> bool:
        """Whether the roster is whole now, and on the disk."""
        if message.version <= self._held.version:
            return message.version == self._held.version
        self._parts = self._parts.with_part(message)
        whole = self._parts.whole(self._held)
        if whole is None:
            return False
        self._journal.write([], {KEPT: roster.to_text(whole)})
        self._held, self._parts, self._leased_until = whole, Parts(), 0.0
        return True

    def lease(self, ack: Ack) -> None:
        """The service holds back what this roster grants, for a while from when it was asked."""
        asked = self._clock.sent_at(ack.about)
        if asked is not None and ack.roster == self._held.version:
            self._leased_until = max(self._leased_until, asked + LEASE.total_seconds())

    def judge(self, pin: str, compartment: str | None) -> tuple[str, str] | None:
        """Which door the PIN opens now, and under which command; None if it opens none."""
        tick = ticks()
        grant = self._held.find(pin, compartment)
        now = Now(self._clock.earliest(tick), self._clock.latest(tick), leased=tick < self._leased_until)
        purpose = purpose_now(grant, now) if grant else None
        if grant is None or purpose is None or (purpose is Purpose.LOAD and self._may_be_loaded(grant)):
            return None
        return grant.compartment, offline_command(purpose, grant.mark, token_hex(4))

    def _may_be_loaded(self, grant: Grant) -> bool:
        """Whether the customer may be called already, and this roster does not say so yet.

        What only the box knows of, because it opened by itself and the service has not heard of it, calls nobody.
        """
        unheard = (read_offline_command(entry.happened.command or "") for entry in self._journal.after(0, ALL))
        return grant.mark in self._held.opened and (Purpose.LOAD, grant.mark) not in unheard

    def protected(self) -> dict[str, float]:
        """For how many seconds more the parcel behind each door is protected, as far as the box knows."""
        now = self._clock.latest(ticks())
        if now is None:
            return {}
        parcels = (grant for grant in self._held.grants if grant.purpose is Purpose.PICK_UP)
        left = {grant.compartment: (grant.opens_from - now).total_seconds() for grant in parcels}
        return {code: seconds for code, seconds in left.items() if seconds > 0}

    def note(self, happened: Iterable[Happened]) -> None:
        """A parcel that was collected is not collected again, and one that was loaded is not loaded again.

        What is not kept here is found in the journal again.
        """
        if self._collect(happened):
            self._journal.write([], {KEPT: roster.to_text(self._held)})

    def _collect(self, happened: Iterable[Happened]) -> bool:
        before = self._held
        for one in happened:
            if one.happening is Happening.DOOR_OPENED and one.compartment is not None:
                self._held = self._held.with_opened(one.compartment)
            own = read_offline_command(one.command or "")
            if own is not None and own[0] is Purpose.PICK_UP and one.happening is Happening.DOOR_CLOSED:
                self._held = self._held.with_collected(own[1])
        return self._held != before
