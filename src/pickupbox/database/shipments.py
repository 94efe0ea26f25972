"""Shipments: reading, locking, and recording the steps they take."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pickupbox.database.connection import Connection, Row
from pickupbox.database.events import DATA, SUBSCRIBED
from pickupbox.domain.advance import Advance
from pickupbox.domain.doors import GRANTS
from pickupbox.domain.grants import WITHHELD
from pickupbox.domain.lifecycle import FACES, Stage
from pickupbox.domain.shipment import BoxSettings, Shipment
from pickupbox.vault import Sealed

COLUMNS = """s.tenant_id, s.id, s.external_order_id, s.attempt_number, s.retry_of_shipment_id, s.box_id,
    s.compartment_code, s.customer_name, s.reservation_ttl_minutes, s.pickup_ttl_minutes, s.stage, s.created_at,
    s.updated_at, s.reservation_expires_at, s.loaded_at, s.pickup_available_at, s.pickup_expires_at,
    s.picked_up_at, s.released_at, s.due_at"""
_WIDTH = COLUMNS.count(",") + 1


@dataclass(frozen=True, slots=True)
class Locked:
    """A shipment whose row is ours until the commit, with what its box decides and PostgreSQL's time."""

    shipment: Shipment
    box: BoxSettings
    now: datetime


def shipment_of(row: Row) -> Shipment:
    """The shipment in a row that begins with COLUMNS."""
    values: list[Any] = list(row.values())[:_WIDTH]
    values[10] = Stage(values[10])
    return Shipment(*values)


READ = f"""
    SELECT {COLUMNS}, s.pin_secret_id, s.pin_sealed, w.n
    FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w (tenant_id, id, n)
    JOIN shipments s ON s.tenant_id = w.tenant_id AND s.id = w.id
"""


async def read_many(
    connection: Connection, wanted: Sequence[tuple[str, str]]
) -> Sequence[tuple[Shipment, Sealed] | None]:
    """Each (tenant, id) that is asked for, or None where the tenant has no such shipment."""
    rows = await connection.fetch(
        READ,
        [tenant for tenant, _ in wanted],
        [shipment_id for _, shipment_id in wanted],
    )
    found: list[tuple[Shipment, Sealed] | None] = [None] * len(wanted)
    for row in rows:
        found[row["n"] - 1] = shipment_of(row), Sealed(row["pin_secret_id"], row["pin_sealed"])
    return found


async def find_attempt(
    connection: Connection, tenant: str, external_order_id: str, attempt_number: int
) -> tuple[Shipment, Sealed] | None:
    row = await connection.fetchrow(
        f"""
        SELECT {COLUMNS}, s.pin_secret_id, s.pin_sealed FROM shipments s
        WHERE s.tenant_id = $1 AND s.external_order_id = $2 AND s.attempt_number = $3
        """,
        tenant,
        external_order_id,
        attempt_number,
    )
    return (shipment_of(row), Sealed(row["pin_secret_id"], row["pin_sealed"])) if row else None


ORDER_LIMIT = 1000


async def find_order(connection: Connection, tenant: str, external_order_id: str) -> list[Shipment]:
    """All attempts of an order, the first one first."""
    rows = await connection.fetch(
        f"""
        SELECT {COLUMNS} FROM shipments s
        WHERE s.tenant_id = $1 AND s.external_order_id = $2 ORDER BY s.attempt_number LIMIT {ORDER_LIMIT}
        """,
        tenant,
        external_order_id,
    )
    return [shipment_of(row) for row in rows]


# LATERAL … LIMIT 1: the box by its key, also when the plan is made while there are few of them.
LOCKED = f"""
    SELECT {COLUMNS}, b.protection_seconds, b.cooldown_seconds, b.door_open_seconds, now() AS now
    FROM shipments s
    CROSS JOIN LATERAL (SELECT * FROM boxes WHERE tenant_id = s.tenant_id AND id = s.box_id LIMIT 1) AS b
"""


def locked_of(row: Row) -> Locked:
    box = BoxSettings(row["protection_seconds"], row["cooldown_seconds"], row["door_open_seconds"])
    return Locked(shipment_of(row), box, row["now"])


async def lock(connection: Connection, tenant: str, shipment_id: str) -> Locked | None:
    # NO KEY UPDATE: foreign keys to this row stay unlocked, so events can be inserted beside us.
    row = await connection.fetchrow(
        f"{LOCKED} WHERE s.tenant_id = $1 AND s.id = $2 FOR NO KEY UPDATE OF s", tenant, shipment_id
    )
    return locked_of(row) if row else None


async def lock_due(connection: Connection, limit: int) -> list[Locked]:
    """The shipments that are due, the longest due first, leaving out those that someone else is moving."""
    rows = await connection.fetch(
        f"""{LOCKED} WHERE s.due_at <= now() ORDER BY s.due_at LIMIT $1
        FOR NO KEY UPDATE OF s SKIP LOCKED""",
        limit,
    )
    return [locked_of(row) for row in rows]


async def postpone(connection: Connection, postponed: Sequence[Shipment], wait: timedelta) -> None:
    """Ask again later whether these are due."""
    await connection.execute(
        """
        UPDATE shipments s SET due_at = now() + $3 FROM unnest($1::text[], $2::text[]) AS p (tenant_id, id)
        WHERE s.tenant_id = p.tenant_id AND s.id = p.id
        """,
        [shipment.tenant_id for shipment in postponed],
        [shipment.id for shipment in postponed],
        wait,
    )


async def next_due_in(connection: Connection) -> float | None:
    """Seconds until the next deadline, negative if it has passed; None if there is none."""
    seconds: float | None = await connection.fetchval(
        """
        SELECT extract(epoch FROM due_at - now())::float FROM shipments
        WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1
        """
    )
    return seconds


# Of a parcel that was inside, a box without a clock may think that its customer can still come: there only its own word
# counts.
_WITHHELD = f"interval '{WITHHELD.total_seconds():.0f} seconds'"

# One statement for all that a step changes: the shipment, its compartment if it is released or its PIN has ended while
# the box may still open for it, its events, and the lanes of those who subscribed to them. A lane that is being told to
# its end right now is waited for. Lanes are always taken in one order, so that two that need several never wait for
# each other in a circle.
_RECORD = f"""
    WITH step AS (
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[],
            $7::timestamptz[], $8::timestamptz[], $9::timestamptz[], $10::timestamptz[], $11::timestamptz[],
            $12::int[])
        WITH ORDINALITY AS t (tenant_id, id, trigger, stage, updated_at, loaded_at, pickup_available_at,
            pickup_expires_at, picked_up_at, released_at, due_at, tells, n)
    ), saved AS (
        UPDATE shipments s SET stage = step.stage, trail = s.trail || step.trigger,
            event_count = s.event_count + step.tells, updated_at = step.updated_at, loaded_at = step.loaded_at,
            pickup_available_at = step.pickup_available_at, pickup_expires_at = step.pickup_expires_at,
            picked_up_at = step.picked_up_at, released_at = step.released_at, due_at = step.due_at,
            told_in = greatest(s.told_in, pg_current_xact_id())
        FROM step WHERE s.tenant_id = step.tenant_id AND s.id = step.id
        RETURNING s.*, step.tells, step.n
    ), rostered AS (
        SELECT s.tenant_id, s.id, s.box_id, s.n = ANY ($20::int[]) AS ended, s.loaded_at IS NULL AS empty
        FROM saved s CROSS JOIN LATERAL (SELECT FROM rosters WHERE box_id = s.box_id LIMIT 1) r
        WHERE s.n = ANY ($19::int[])
    ), changed AS (
        INSERT INTO roster_changes (tenant_id, box_id) SELECT DISTINCT tenant_id, box_id FROM rostered
    ), freed AS (
        UPDATE compartments c SET
            shipment_id = CASE WHEN s.released_at IS NULL THEN c.shipment_id END,
            withheld_until = CASE WHEN r.id IS NULL THEN c.withheld_until
                WHEN r.empty THEN now() + {_WITHHELD} ELSE 'infinity' END,
            withheld_by = CASE WHEN r.id IS NULL THEN c.withheld_by END
        FROM saved s LEFT JOIN rostered r ON r.id = s.id AND r.ended
        WHERE (s.released_at IS NOT NULL OR r.id IS NOT NULL)
          AND c.tenant_id = s.tenant_id AND c.box_id = s.box_id AND c.code = s.compartment_code
          AND c.shipment_id = s.id
    ), told AS (
        INSERT INTO events (shipment_created_at, tenant_id, shipment_id, sequence, step, id, type, occurred_at, data,
            told_in, endpoints)
        SELECT s.created_at, s.tenant_id, s.id, s.event_count - s.tells + e.place, cardinality(s.trail),
               e.id, e.type, s.updated_at, {DATA}, s.told_in, {SUBSCRIBED}
        FROM unnest($13::int[], $14::text[], $15::int[], $16::text[], $17::text[], $18::text[])
            AS e (n, id, place, type, status, compartment_state)
        JOIN saved s ON s.n = e.n
        JOIN boxes b ON b.tenant_id = s.tenant_id AND b.id = s.box_id
        RETURNING *
    )
    INSERT INTO webhook_lanes (tenant_id, endpoint_id, shipment_id, shipment_created_at, waiting)
    SELECT t.tenant_id, w.id, t.shipment_id, t.shipment_created_at, array_agg(t.sequence ORDER BY t.sequence)
    FROM told t CROSS JOIN LATERAL unnest(t.endpoints) AS w (id)
    GROUP BY t.tenant_id, w.id, t.shipment_id, t.shipment_created_at
    ORDER BY t.shipment_id, w.id
    ON CONFLICT (shipment_id, endpoint_id) DO UPDATE SET waiting = webhook_lanes.waiting || EXCLUDED.waiting
"""


@dataclass(frozen=True, slots=True)
class Recording:
    """A step that was taken, with an id for each event that it tells."""

    advance: Advance
    event_ids: Sequence[str]


async def record(connection: Connection, recordings: Sequence[Recording]) -> None:
    """Save steps of locked shipments with their events, in the caller's transaction."""
    shipments = [recording.advance.shipment for recording in recordings]
    told = [
        (n, event_id, place, emission)
        for n, recording in enumerate(recordings, start=1)
        for place, (event_id, emission) in enumerate(
            zip(recording.event_ids, recording.advance.emits, strict=True), start=1
        )
    ]
    granted = [
        (n, GRANTS.get(recording.advance.before), GRANTS.get(recording.advance.shipment.stage))
        for n, recording in enumerate(recordings, start=1)
    ]
    await connection.execute(
        _RECORD,
        [s.tenant_id for s in shipments],
        [s.id for s in shipments],
        [recording.advance.trigger for recording in recordings],
        [s.stage for s in shipments],
        [s.updated_at for s in shipments],
        [s.loaded_at for s in shipments],
        [s.pickup_available_at for s in shipments],
        [s.pickup_expires_at for s in shipments],
        [s.picked_up_at for s in shipments],
        [s.released_at for s in shipments],
        [s.due_at for s in shipments],
        [len(recording.advance.emits) for recording in recordings],
        [n for n, _, _, _ in told],
        [event_id for _, event_id, _, _ in told],
        [place for _, _, place, _ in told],
        [emission.event for _, _, _, emission in told],
        [FACES[emission.stage].status for _, _, _, emission in told],
        [FACES[emission.stage].compartment_state for _, _, _, emission in told],
        [n for n, before, after in granted if before is not after],
        [n for n, before, after in granted if before is not None and after is None],
    )
