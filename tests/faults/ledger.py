"""Every report of a door that the service committed, and whether they are the door cycles that there were.

The service's own history of reports is not asked: the tests' database notes each change of a door by itself, in the
same commit. A report that were taken twice, lost, or taken for another shipment would be seen here.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import batched

from pickupbox.database.connection import Connection
from tests.faults.station import Station

NOTES = """
CREATE TABLE noted_doors (
    number bigint GENERATED ALWAYS AS IDENTITY,
    box_id text NOT NULL,
    code text NOT NULL,
    is_open boolean NOT NULL,
    shipment_id text  -- that held the compartment
);
CREATE FUNCTION note_door() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO noted_doors (box_id, code, is_open, shipment_id)
    SELECT NEW.box_id, NEW.code, NEW.is_open, c.shipment_id FROM compartments c
    WHERE c.tenant_id = NEW.tenant_id AND c.box_id = NEW.box_id AND c.code = NEW.code;
    RETURN NULL;
END $$;
CREATE TRIGGER note_door AFTER INSERT OR UPDATE ON doors FOR EACH ROW EXECUTE FUNCTION note_door();
"""

_CYCLE = "door_opened door_closed"
LIFE = re.compile(f"reserve {_CYCLE}( {_CYCLE})* protection_ended {_CYCLE} release")

type Place = tuple[str, str]  # box and compartment


async def differences(connection: Connection, stations: Sequence[Station], tally: Counter[str]) -> list[str]:
    """Where the committed reports and the door cycles that there were do not agree; what was compared is counted."""
    reported = await _reported(connection)
    failed = await _faults_by_restart(connection)
    wrong: list[str] = []
    for station in stations:
        for code in station.doors.parcels:
            place = station.box_id, code
            happened = [cycle for cycle in station.doors.cycles if cycle.compartment == code]
            seen, badly = _as_cycles(reported.pop(place, []))
            wrong += [f"{place}: {text}" for text in badly]
            # A box without power sees nothing. A door that it had been told to open may have been open meanwhile: it
            # says that the lock failed, and an operator looks. Any other cycle is in the service as such.
            unseen = Counter(cycle.shipment for cycle in happened)
            unseen.subtract(seen)
            dark = Counter(cycle.shipment for cycle in happened if cycle.in_the_dark)
            tally["cycles compared"] += len(happened)
            for shipment, missing in unseen.items():
                if 0 < missing <= min(dark[shipment], failed[shipment]):
                    tally["cycles that a dark box could not see, a fault each"] += missing
                elif missing:
                    wrong.append(f"{place}: {missing} cycles of {shipment} too few, {dark[shipment]} in the dark")
    return wrong + [f"{place}: reports of a door that nobody has" for place in reported]


async def _reported(connection: Connection) -> dict[Place, list[tuple[bool, str]]]:
    found = defaultdict(list)
    for row in await connection.fetch("SELECT box_id, code, is_open, shipment_id FROM noted_doors ORDER BY number"):
        found[row["box_id"], row["code"]].append((row["is_open"], row["shipment_id"]))
    return found


async def _faults_by_restart(connection: Connection) -> Counter[str]:
    """How often a box said of a shipment's door that it may have been open while the power was away."""
    rows = await connection.fetch(
        """
        SELECT id FROM shipments WHERE 'fault' = ANY (trail)
        UNION ALL
        SELECT shipment_id FROM door_commands
        WHERE purpose = 'remove' AND outcome = 'failed' AND outcome_reason = 'restarted'
        """
    )
    return Counter(row["id"] for row in rows)


def _as_cycles(reports: Sequence[tuple[bool, str]]) -> tuple[Counter[str], list[str]]:
    """The shipments of the reported cycles, and what is no cycle: open and closed must take turns."""
    cycles, wrong = Counter[str](), []
    for pair in batched(reports, 2, strict=False):
        if [is_open for is_open, _ in pair] == [True, False] and pair[0][1] == pair[1][1]:
            cycles[pair[0][1]] += 1
        else:
            wrong.append(f"no cycle: {pair}")
    return cycles, wrong


async def not_loaded_and_collected_once(connection: Connection, tenant: str) -> list[str]:
    """Shipments without a fault whose own trail is not one loading and one pickup.

    Corrections may stand between the two, or not at all if the protection was over when they were reported.
    """
    rows = await connection.fetch("SELECT id, trail FROM shipments WHERE tenant_id = $1", tenant)
    return [
        f"{row['id']}: {trail}"
        for row in rows
        if "fault" not in row["trail"] and LIFE.fullmatch(trail := " ".join(row["trail"])) is None
    ]


async def behind(connection: Connection, stations: Sequence[Station]) -> list[str]:
    """Journals that are not committed to their last entry, or not acknowledged so far, or began anew."""
    rows = await connection.fetch("SELECT device_id, boot, seq FROM journals")
    committed = defaultdict(dict)
    for row in rows:
        committed[row["device_id"]][row["boot"]] = row["seq"]
    return [
        f"{station.device}: {committed[station.device]}, but {journal.boot} ends at {journal.last}"
        for station in stations
        for journal in [station.box.journal]
        if committed[station.device] != {journal.boot: journal.last} or journal.waiting
    ]
