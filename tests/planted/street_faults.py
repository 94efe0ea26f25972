"""The list for boxes: what they report, what they may do by themselves, and how the ledgers agree again."""

from tests.planted.fault import Fault

RULES, ROSTERS = "tests/devices/test_door_rules.py", "tests/devices/test_rosters.py"
ROSTER, JOURNALS = "tests/box/test_roster.py", "tests/devices/test_journals.py"
TRUTH, STREET = "tests/truth", "tests/street/test_street.py"

FAULTS = (
    Fault(
        "who stands before an open door at the deadline does not collect",
        "domain/deadlines.py",
        "        case Stage.LOADING | Stage.CORRECTING | Stage.COLLECTING:\n",
        "        case Stage.COLLECTING:\n            return shipment.pickup_expires_at\n"
        "        case Stage.LOADING | Stage.CORRECTING:\n",
        f"{STREET}::test_who_stands_before_an_open_door_at_the_deadline_still_collects",
    ),
    Fault(
        "the lease is ignored: a box loads by itself for ever",
        "box/roster.py",
        "certainly_held = now.leased and now.latest is not None",
        "certainly_held = now.latest is not None",
        ROSTER,
    ),
    Fault(
        "a parcel is collected by the box alone, twice",
        "box/roster.py",
        "usable = [grant for grant in found if grant.mark not in self.collected]",
        "usable = found",
        ROSTER,
    ),
    Fault(
        "a box collects by itself after the pickup time",
        "box/roster.py",
        "if now.earliest is not None and now.earliest > grant.until:",
        "if grant.until is None:",
        ROSTER,
    ),
    Fault(
        "a box collects by itself a second before the protection ends",
        "domain/grants.py",
        "{ceil(grant.opens_from.timestamp())}",
        "{floor(grant.opens_from.timestamp())}",
        ROSTER,
    ),
    Fault(
        "parts of two rosters make one",
        "box/roster.py",
        "if message.version != self.version:",
        "if not self.messages:",
        ROSTER,
    ),
    Fault(
        "a late event of the box is attached to the next shipment",
        "usecases/doors.py",
        "return own[0] if own is not None and own[1] == mark_of(locked.shipment.id) else None",
        "return own[0] if own is not None else None",
        ROSTERS,
    ),
    Fault(
        "a released compartment is given away while its box may still open for the PIN before",
        "database/reservations.py",
        " AND (withheld_until IS NULL OR withheld_until <= now())",
        "",
        ROSTERS,
    ),
    Fault(
        "any roster that the box confirms frees what is withheld",
        "database/rosters.py",
        "AND c.withheld_by <= $2",
        "AND c.withheld_until IS NOT NULL",
        ROSTERS,
    ),
    Fault(
        "a lease is renewed while a change of the box waits",
        "database/rosters.py",
        "newest AND NOT changed AS leased",
        "newest AS leased",
        ROSTERS,
    ),
    Fault(
        "what held a parcel is withheld for a lease only",
        "database/shipments.py",
        "WHEN r.empty THEN now() + {_WITHHELD} ELSE 'infinity' END",
        "ELSE now() + {_WITHHELD} END",
        ROSTERS,
    ),
    Fault(
        "a correction that is reported late counts as the pickup",
        "domain/doors.py",
        "if opened and stage is Stage.READY and purpose in (Purpose.LOAD, Purpose.CORRECT):",
        "if opened and stage is Stage.READY and purpose is Purpose.REMOVE:",
        RULES,
    ),
    Fault(
        "a parcel expires though its box may have handed it over",
        "domain/deadlines.py",
        "return not told_all and now < shipment.pickup_expires_at + WAIT_FOR_BOX",
        "return False",
        "tests/domain/test_deadlines.py",
    ),
    Fault(
        "a gap in a box's journal is skipped",
        "usecases/doors.py",
        "elif entry.seq == progress.seq + 1:",
        "elif entry.seq > progress.seq:",
        JOURNALS,
    ),
    Fault(
        "a lease has no end: a box loads by itself after a long partition",
        "box/alone.py",
        "leased=tick < self._leased_until",
        "leased=self._leased_until > 0",
        TRUTH,
    ),
    Fault(
        "a released compartment is withheld for a minute, and the lease lasts fifteen",
        "domain/grants.py",
        "WITHHELD = LEASE + timedelta(minutes=1)",
        "WITHHELD = timedelta(minutes=1)",
        TRUTH,
    ),
    Fault(
        "a box forgets that it has handed a parcel over by itself",
        "box/alone.py",
        "self._held = self._held.with_collected(own[1])",
        "self._held = self._held.with_opened(own[1])",
        TRUTH,
    ),
    Fault(
        "a box counts as in reach two hours after it was last heard: what it handed over expires",
        "domain/deadlines.py",
        "HEARD_BEFORE = timedelta(seconds=30)",
        "HEARD_BEFORE = timedelta(hours=2)",
        TRUTH,
    ),
    Fault(
        "a roster whose confirmation was lost withholds for ever",
        "devices/gateway.py",
        "if device in compared and compared[device].unconfirmed:",
        "if device not in compared:",
        "tests/devices/test_gateway_rosters.py",
    ),
    Fault(
        "a board that stood still tries the lock again when nobody is there any more",
        "box/doors.py",
        "if door.tries < TRIES and now < door.try_ends + TRY_SECONDS:",
        "if door.tries < TRIES:",
        "tests/box/test_doors.py",
    ),
    Fault(
        "a door that nobody commanded open is taken for the loader's",
        "domain/doors.py",
        "trigger = Trigger.FAULT if opened and purpose is None else _TRIGGERS.get(happening)",
        "trigger = _TRIGGERS.get(happening)",
        RULES,
    ),
)
