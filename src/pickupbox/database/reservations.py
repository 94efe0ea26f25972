"""Reservations: any number of them in one statement and one round trip, each with its own outcome."""

from collections.abc import Sequence
from dataclasses import dataclass

from pickupbox.database.connection import Connection
from pickupbox.database.events import DATA
from pickupbox.database.shipments import COLUMNS, shipment_of
from pickupbox.domain.lifecycle import FACES, Trigger, step
from pickupbox.domain.shipment import Shipment
from pickupbox.vault import SealedPin


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
    pin: SealedPin
    pin_lookup: bytes
    pin_lookup_before: bytes | None  # the same PIN under the secret before, while a rotation is under way
    event_id: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of it: the shipment, or which of box and compartment was found on the way."""

    shipment: Shipment | None
    box_found: bool
    compartment_found: bool


# The k-th reservation of a box takes its k-th free compartment that nobody else is taking. What loses on a
# unique index (order, PIN, compartment) is left out by ON CONFLICT and fails nobody else; only what was
# inserted takes its compartment and tells its event. Inserting in one order keeps two batches that carry the
# same orders from waiting for each other in a circle.
RESERVE = f"""
    WITH asked AS (
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::text[], $6::text[], $7::text[],
            $8::int[], $9::int[], $10::text[], $11::bytea[], $12::bytea[], $13::bytea[], $14::text[])
        WITH ORDINALITY AS a (tenant_id, id, external_order_id, attempt_number, retry_of_shipment_id, box_id,
            customer_name, reservation_ttl_minutes, pickup_ttl_minutes, pin_secret_id, pin_sealed, pin_lookup,
            pin_lookup_before, event_id, n)
    ), placed AS (
        SELECT a.*, b.reservation_ttl_minutes AS box_reservation_ttl, b.pickup_ttl_minutes AS box_pickup_ttl,
               row_number() OVER (PARTITION BY a.tenant_id, a.box_id ORDER BY a.n) AS turn
        FROM asked a JOIN boxes b ON b.tenant_id = a.tenant_id AND b.id = a.box_id AND b.active
    ), free AS (
        SELECT wish.tenant_id, wish.box_id, c.code,
               row_number() OVER (PARTITION BY wish.tenant_id, wish.box_id ORDER BY c.position) AS turn
        FROM (SELECT tenant_id, box_id, count(*) AS wanted FROM placed GROUP BY tenant_id, box_id) wish
        CROSS JOIN LATERAL (
            SELECT code, position FROM compartments
            WHERE tenant_id = wish.tenant_id AND box_id = wish.box_id AND shipment_id IS NULL AND in_service
            ORDER BY position LIMIT wish.wanted
            FOR NO KEY UPDATE SKIP LOCKED
        ) c
    ), matched AS (
        SELECT p.*, f.code FROM placed p
        JOIN free f ON f.tenant_id = p.tenant_id AND f.box_id = p.box_id AND f.turn = p.turn
    ), made AS (
        INSERT INTO shipments (tenant_id, id, external_order_id, attempt_number, retry_of_shipment_id, box_id,
            compartment_code, customer_name, reservation_ttl_minutes, pickup_ttl_minutes, stage, trail,
            event_count, created_at, updated_at, reservation_expires_at, due_at, pin_secret_id, pin_sealed,
            pin_lookup)
        SELECT m.tenant_id, m.id, m.external_order_id, m.attempt_number, m.retry_of_shipment_id, m.box_id,
            m.code, m.customer_name, t.reservation, t.pickup, $15, ARRAY[$16], 1, now(), now(), t.expires,
            t.expires, m.pin_secret_id, m.pin_sealed, m.pin_lookup
        FROM matched m CROSS JOIN LATERAL (
            SELECT coalesce(m.reservation_ttl_minutes, m.box_reservation_ttl) AS reservation,
                   coalesce(m.pickup_ttl_minutes, m.box_pickup_ttl) AS pickup,
                   now() + make_interval(mins => coalesce(m.reservation_ttl_minutes, m.box_reservation_ttl)) AS expires
        ) t
        WHERE m.pin_lookup_before IS NULL OR NOT EXISTS (
            SELECT FROM shipments o
            WHERE o.box_id = m.box_id AND o.pin_lookup = m.pin_lookup_before AND o.released_at IS NULL
        )
        ORDER BY m.tenant_id, m.external_order_id
        ON CONFLICT DO NOTHING
        RETURNING *
    ), taken AS (
        UPDATE compartments c SET shipment_id = s.id FROM made s
        WHERE c.tenant_id = s.tenant_id AND c.box_id = s.box_id AND c.code = s.compartment_code
    ), told AS (
        INSERT INTO events (shipment_created_at, tenant_id, shipment_id, sequence, step, id, type, occurred_at, data)
        SELECT s.created_at, s.tenant_id, s.id, 1, 1, a.event_id, e.type, s.created_at, {DATA}
        FROM made s
        JOIN asked a ON a.id = s.id
        JOIN boxes b ON b.tenant_id = s.tenant_id AND b.id = s.box_id
        CROSS JOIN (VALUES ($17::text, $18::text, $19::text)) AS e (type, status, compartment_state)
    )
    SELECT {COLUMNS}, a.n, p.n IS NOT NULL AS box_found, m.code IS NOT NULL AS compartment_found
    FROM asked a
    LEFT JOIN placed p ON p.n = a.n
    LEFT JOIN matched m ON m.n = a.n
    LEFT JOIN made s ON s.id = a.id
"""


async def insert_many(connection: Connection, asked: Sequence[Asked]) -> Sequence[Outcome]:
    """Make reservations; those that cannot be made are refused without failing their neighbours."""
    begin = step(None, Trigger.RESERVE)
    (emission,) = begin.emits
    face = FACES[emission.stage]
    rows = await connection.fetch(
        RESERVE,
        [a.tenant_id for a in asked],
        [a.shipment_id for a in asked],
        [a.external_order_id for a in asked],
        [a.attempt_number for a in asked],
        [a.retry_of_shipment_id for a in asked],
        [a.box_id for a in asked],
        [a.customer_name for a in asked],
        [a.reservation_ttl_minutes for a in asked],
        [a.pickup_ttl_minutes for a in asked],
        [a.pin.secret_id for a in asked],
        [a.pin.sealed for a in asked],
        [a.pin_lookup for a in asked],
        [a.pin_lookup_before for a in asked],
        [a.event_id for a in asked],
        begin.stage,
        Trigger.RESERVE,
        emission.event,
        face.status,
        face.compartment_state,
    )
    outcomes: list[Outcome] = [Outcome(None, box_found=False, compartment_found=False)] * len(asked)
    for row in rows:
        shipment = shipment_of(row) if row["id"] is not None else None
        outcomes[row["n"] - 1] = Outcome(shipment, row["box_found"], row["compartment_found"])
    return outcomes


async def wait_for_free(connection: Connection, tenant: str, box_id: str) -> bool:
    """Wait until whoever is taking the box's last compartments is done; whether one is free then."""
    row = await connection.fetchrow(
        """
        SELECT code FROM compartments
        WHERE tenant_id = $1 AND box_id = $2 AND shipment_id IS NULL AND in_service
        ORDER BY position LIMIT 1 FOR NO KEY UPDATE
        """,
        tenant,
        box_id,
    )
    return row is not None
