"""Reservations: any number of them in one statement and one round trip, each with its own outcome."""

from collections.abc import Sequence
from dataclasses import dataclass

from pickupbox.database.connection import Connection
from pickupbox.database.events import DATA, SUBSCRIBED
from pickupbox.database.shipments import COLUMNS, shipment_of
from pickupbox.domain.lifecycle import FACES, Trigger, step
from pickupbox.domain.shipment import Shipment
from pickupbox.vault import Sealed


@dataclass(frozen=True, slots=True)
class Asked:
    """One reservation to make. TTLs that are None are the box's."""

    tenant_id: str
    shipment_id: str
    external_order_id: str
    attempt_number: int
    retry_of_shipment_id: str | None
    box_id: str
    customer_name: str | None
    reservation_ttl_minutes: int | None
    pickup_ttl_minutes: int | None
    pin: Sealed
    pin_lookup: bytes
    pin_lookup_before: bytes | None  # the same PIN under the secret before, while a rotation is under way


# Withheld: the box was out of reach when the shipment before ended, and may still open for its PIN.
FREE = "shipment_id IS NULL AND in_service AND (withheld_until IS NULL OR withheld_until <= now())"

# The k-th reservation of a box takes its k-th free compartment that nobody else is taking. What loses on a
# unique index (order, PIN, compartment) is left out by ON CONFLICT and fails nobody else; only what was
# inserted takes its compartment and tells its event. Inserting in one order keeps two batches that carry the
# same orders from waiting for each other in a circle. The event has the shipment's own time and chance in its id.
RESERVE = f"""
    WITH free AS (
        SELECT w.wish, b.tenant_id, b.id AS box_id, b.reservation_ttl_minutes, b.pickup_ttl_minutes, c.code,
               row_number() OVER (PARTITION BY w.wish ORDER BY c.position) AS turn
        FROM unnest($1::text[], $2::text[], $3::int[]) WITH ORDINALITY AS w (tenant_id, box_id, wanted, wish)
        JOIN boxes b ON b.tenant_id = w.tenant_id AND b.id = w.box_id AND b.active
        CROSS JOIN LATERAL (
            SELECT code, position FROM compartments
            WHERE tenant_id = w.tenant_id AND box_id = w.box_id AND {FREE}
            ORDER BY position LIMIT w.wanted
            FOR NO KEY UPDATE SKIP LOCKED
        ) c
    ), made AS (
        INSERT INTO shipments (tenant_id, id, external_order_id, attempt_number, retry_of_shipment_id, box_id,
            compartment_code, customer_name, reservation_ttl_minutes, pickup_ttl_minutes, stage, trail,
            event_count, created_at, updated_at, reservation_expires_at, due_at, pin_secret_id, pin_sealed,
            pin_lookup)
        SELECT f.tenant_id, a.id, a.external_order_id, a.attempt_number, a.retry_of_shipment_id, f.box_id, f.code,
            a.customer_name, t.reservation, t.pickup, $17, ARRAY[$18], 1, now(), now(),
            now() + make_interval(mins => t.reservation), now() + make_interval(mins => t.reservation),
            a.pin_secret_id, a.pin_sealed, a.pin_lookup
        FROM unnest($4::int[], $5::int[], $6::text[], $7::text[], $8::int[], $9::text[], $10::text[], $11::int[],
                    $12::int[], $13::text[], $14::bytea[], $15::bytea[], $16::bytea[])
            AS a (wish, turn, id, external_order_id, attempt_number, retry_of_shipment_id, customer_name,
                  reservation_ttl_minutes, pickup_ttl_minutes, pin_secret_id, pin_sealed, pin_lookup, pin_lookup_before)
        JOIN free f ON f.wish = a.wish AND f.turn = a.turn
        CROSS JOIN LATERAL (
            SELECT coalesce(a.reservation_ttl_minutes, f.reservation_ttl_minutes) AS reservation,
                   coalesce(a.pickup_ttl_minutes, f.pickup_ttl_minutes) AS pickup
        ) t
        -- A count, not EXISTS: that could be planned as a hash of every live PIN there is.
        WHERE a.pin_lookup_before IS NULL OR 0 = (
            SELECT count(*) FROM shipments o
            WHERE o.box_id = f.box_id AND o.pin_lookup = a.pin_lookup_before AND o.released_at IS NULL
        )
        ORDER BY a.external_order_id
        ON CONFLICT DO NOTHING
        RETURNING *
    ), taken AS (
        UPDATE compartments c SET shipment_id = s.id FROM made s
        WHERE c.tenant_id = s.tenant_id AND c.box_id = s.box_id AND c.code = s.compartment_code
    ), changed AS (
        INSERT INTO roster_changes (tenant_id, box_id)
        SELECT DISTINCT s.tenant_id, s.box_id
        FROM made s CROSS JOIN LATERAL (SELECT FROM rosters WHERE box_id = s.box_id LIMIT 1) r
    ), told AS (
        INSERT INTO events (shipment_created_at, tenant_id, shipment_id, sequence, step, id, type, occurred_at, data,
            told_in, endpoints)
        SELECT s.created_at, s.tenant_id, s.id, 1, 1, 'evt' || substr(s.id, 4), e.type, s.created_at, {DATA},
            s.told_in, {SUBSCRIBED}
        FROM made s
        JOIN boxes b ON b.tenant_id = s.tenant_id AND b.id = s.box_id
        CROSS JOIN (VALUES ($19::text, $20::text, $21::text)) AS e (type, status, compartment_state)
        RETURNING *
    ), lanes AS (
        INSERT INTO webhook_lanes (tenant_id, endpoint_id, shipment_id, shipment_created_at, waiting)
        SELECT tenant_id, unnest(endpoints), shipment_id, shipment_created_at, ARRAY[sequence] FROM told
    )
    SELECT {COLUMNS} FROM made s
"""


async def insert_many(connection: Connection, asked: Sequence[Asked]) -> Sequence[Shipment | None]:
    """Make reservations. None for one that lost: no such box, no compartment, or a unique index."""
    begin = step(None, Trigger.RESERVE)
    (emission,) = begin.emits
    face = FACES[emission.stage]
    wishes: dict[tuple[str, str], list[int]] = {}
    turns: list[tuple[int, int]] = []
    for a in asked:
        wish = wishes.setdefault((a.tenant_id, a.box_id), [len(wishes) + 1, 0])
        wish[1] += 1
        turns.append((wish[0], wish[1]))
    rows = await connection.fetch(
        RESERVE,
        [tenant for tenant, _ in wishes],
        [box_id for _, box_id in wishes],
        [wanted for _, wanted in wishes.values()],
        [wish for wish, _ in turns],
        [turn for _, turn in turns],
        [a.shipment_id for a in asked],
        [a.external_order_id for a in asked],
        [a.attempt_number for a in asked],
        [a.retry_of_shipment_id for a in asked],
        [a.customer_name for a in asked],
        [a.reservation_ttl_minutes for a in asked],
        [a.pickup_ttl_minutes for a in asked],
        [a.pin.secret_id for a in asked],
        [a.pin.sealed for a in asked],
        [a.pin_lookup for a in asked],
        [a.pin_lookup_before for a in asked],
        begin.stage,
        Trigger.RESERVE,
        emission.event,
        face.status,
        face.compartment_state,
    )
    made = {row["id"]: shipment_of(row) for row in rows}
    return [made.get(a.shipment_id) for a in asked]


async def wait_for_free(connection: Connection, tenant: str, box_id: str) -> bool:
    """Wait until whoever is taking the box's last compartments is done; whether one is free then."""
    row = await connection.fetchrow(
        f"""
        SELECT code FROM compartments WHERE tenant_id = $1 AND box_id = $2 AND {FREE}
        ORDER BY position LIMIT 1 FOR NO KEY UPDATE
        """,
        tenant,
        box_id,
    )
    return row is not None
