"""Lanes: who still has to be told what, claimed in batches with a lease and settled in batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from pickupbox.database.connection import Connection

LEASE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Turn:
    """An endpoint that has lanes, and in how many seconds the first of them is due."""

    endpoint_id: str
    due_in: float
    failing: bool
    resume_in: float | None  # while it backs off as a whole

    @property
    def wait(self) -> float:
        """Seconds until it may be told something; not above zero if it is due."""
        return max(self.due_in, self.resume_in or self.due_in)


@dataclass(frozen=True, slots=True)
class Wish:
    """So many lanes of one endpoint; a probe is the one lane of an endpoint that backs off."""

    endpoint_id: str
    room: int
    probe: bool


class Claimed(NamedTuple):
    """A lane in our hands until the lease ends, with the event at its head."""

    tenant_id: str
    endpoint_id: str
    shipment_id: str
    sequence: int
    attempts: int  # that were made for this event before
    leased_until: datetime
    url: str
    secret_id: str
    secret_sealed: bytes
    before_id: str | None
    before_sealed: bytes | None
    event_id: str
    event_type: str
    occurred_at: datetime
    data: str
    failing: bool


class Settled(NamedTuple):
    """What became of a claimed lane's head. `delay` is None if the lane moves on."""

    lane: Claimed
    outcome: str  # accepted, failed or given_up
    delay: float | None
    status: int | None
    error: str | None
    milliseconds: int
    answer: str


# One step in the index for each endpoint, however many lanes it has: a dead one with a million costs one step.
_TURNS = """
    WITH RECURSIVE turn AS (
        (SELECT endpoint_id, due_at, 1 AS n FROM webhook_lanes WHERE endpoint_id > $1
         ORDER BY endpoint_id, due_at LIMIT 1)
        UNION ALL
        SELECT next.endpoint_id, next.due_at, turn.n + 1 FROM turn CROSS JOIN LATERAL (
            SELECT l.endpoint_id, l.due_at FROM webhook_lanes l WHERE l.endpoint_id > turn.endpoint_id
            ORDER BY l.endpoint_id, l.due_at LIMIT 1
        ) next WHERE turn.n < $2
    )
    SELECT turn.endpoint_id, extract(epoch FROM turn.due_at - now())::float,
           f.endpoint_id IS NOT NULL, extract(epoch FROM f.resume_at - now())::float,
           e.enabled AND e.removed_at IS NULL AS open
    FROM turn
    JOIN webhook_endpoints e ON e.id = turn.endpoint_id
    LEFT JOIN webhook_failures f ON f.endpoint_id = turn.endpoint_id
    ORDER BY turn.endpoint_id
"""


async def turns(connection: Connection, after: str, limit: int) -> tuple[list[Turn], str]:
    """The endpoints that come next in the round and are enabled, and where the round goes on."""
    rows = await connection.fetch(_TURNS, after, limit)
    go_on = rows[-1]["endpoint_id"] if len(rows) == limit else ""
    return [Turn(*list(row.values())[:4]) for row in rows if row["open"]], go_on


# What someone else is claiming is left out. Only one worker wins the probe of an endpoint that backs off: the winner
# moves resume_at, whoever waited for the row sees that.
_CLAIM = """
    WITH probing AS (
        UPDATE webhook_failures SET resume_at = now() + make_interval(secs => $4)
        WHERE endpoint_id = ANY ($5::text[]) AND resume_at <= now() RETURNING endpoint_id
    ), picked AS MATERIALIZED (
        SELECT l.shipment_id, l.endpoint_id
        FROM unnest($1::text[], $2::int[], $3::bool[]) AS w (endpoint_id, room, probe)
        CROSS JOIN LATERAL (
            SELECT shipment_id, endpoint_id FROM webhook_lanes
            WHERE endpoint_id = w.endpoint_id AND due_at <= now()
            ORDER BY due_at LIMIT w.room FOR UPDATE SKIP LOCKED
        ) l
        WHERE NOT w.probe OR w.endpoint_id IN (SELECT endpoint_id FROM probing)
    ), claimed AS (
        UPDATE webhook_lanes l SET due_at = now() + make_interval(secs => $4) FROM picked p
        WHERE l.shipment_id = p.shipment_id AND l.endpoint_id = p.endpoint_id
        RETURNING l.*
    )
    SELECT c.tenant_id, c.endpoint_id, c.shipment_id, c.waiting[1], c.attempts, c.due_at, e.url, e.secret_id,
           e.secret_sealed, CASE WHEN e.before_until > now() THEN e.before_id END,
           CASE WHEN e.before_until > now() THEN e.before_sealed END, v.id, v.type, v.occurred_at, v.data,
           f.endpoint_id IS NOT NULL
    FROM claimed c
    JOIN webhook_endpoints e ON e.tenant_id = c.tenant_id AND e.id = c.endpoint_id
    -- With LIMIT it stays a question per lane, asked of one partition by its key: a join reads a tenant's whole feed.
    CROSS JOIN LATERAL (
        SELECT id, type, occurred_at, data FROM events
        WHERE shipment_id = c.shipment_id AND tenant_id = c.tenant_id AND sequence = c.waiting[1]
          AND shipment_created_at = c.shipment_created_at LIMIT 1
    ) v
    LEFT JOIN webhook_failures f ON f.endpoint_id = c.endpoint_id
"""


async def claim(connection: Connection, wishes: Sequence[Wish]) -> list[Claimed]:
    """Take due lanes, the longest due first, with a lease."""
    rows = await connection.fetch(
        _CLAIM,
        [w.endpoint_id for w in wishes],
        [w.room for w in wishes],
        [w.probe for w in wishes],
        LEASE_SECONDS,
        [w.endpoint_id for w in wishes if w.probe],
    )
    return [Claimed._make(row.values()) for row in rows]


# A lane whose lease ended and that someone else took is left alone; the attempt is kept all the same. The lock shows
# what a step has added to the lane in the meantime.
_SETTLE = """
    WITH done AS (
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::timestamptz[], $6::float[],
            $7::text[], $8::text[], $9::int[], $10::text[], $11::int[], $12::text[], $13::int[], $14::text[])
        WITH ORDINALITY AS d (tenant_id, endpoint_id, shipment_id, sequence, leased_until, delay,
            event_id, event_type, number, outcome, status, error, milliseconds, answer, n)
    ), held AS MATERIALIZED (
        SELECT d.n, d.endpoint_id, d.shipment_id, d.delay, d.number,
               CASE WHEN d.delay IS NULL THEN array_remove(l.waiting, d.sequence) ELSE l.waiting END AS waiting
        FROM done d
        JOIN webhook_lanes l ON l.shipment_id = d.shipment_id AND l.endpoint_id = d.endpoint_id
            AND l.due_at = d.leased_until
        ORDER BY l.shipment_id, l.endpoint_id FOR UPDATE OF l
    ), finished AS (
        DELETE FROM webhook_lanes l USING held h
        WHERE l.shipment_id = h.shipment_id AND l.endpoint_id = h.endpoint_id AND cardinality(h.waiting) = 0
    ), goes_on AS (
        UPDATE webhook_lanes l SET waiting = h.waiting,
            attempts = CASE WHEN h.delay IS NULL THEN 0 ELSE h.number END,
            due_at = now() + make_interval(secs => coalesce(h.delay, 0))
        FROM held h
        WHERE l.shipment_id = h.shipment_id AND l.endpoint_id = h.endpoint_id AND cardinality(h.waiting) > 0
    ), kept AS (
        INSERT INTO webhook_attempts (tenant_id, endpoint_id, shipment_id, sequence, event_id, event_type, number,
            outcome, status, error, milliseconds, answer)
        SELECT tenant_id, endpoint_id, shipment_id, sequence, event_id, event_type, number,
            outcome, status, error, milliseconds, answer FROM done
    )
    SELECT n FROM held WHERE delay IS NULL AND cardinality(waiting) > 0
"""


async def settle_many(connection: Connection, settled: Sequence[Settled]) -> Sequence[bool]:
    """Keep the attempts and move the lanes; for each, whether its lane has another event due at once."""
    rows = await connection.fetch(
        _SETTLE,
        [s.lane.tenant_id for s in settled],
        [s.lane.endpoint_id for s in settled],
        [s.lane.shipment_id for s in settled],
        [s.lane.sequence for s in settled],
        [s.lane.leased_until for s in settled],
        [s.delay for s in settled],
        [s.lane.event_id for s in settled],
        [s.lane.event_type for s in settled],
        [s.lane.attempts + 1 for s in settled],
        [s.outcome for s in settled],
        [s.status for s in settled],
        [s.error for s in settled],
        [s.milliseconds for s in settled],
        [s.answer for s in settled],
    )
    more = {row["n"] for row in rows}
    return [n in more for n in range(1, len(settled) + 1)]


async def give_back(connection: Connection, claimed: Sequence[Claimed]) -> None:
    """Lanes that were not tried after all are due at once."""
    await connection.execute(
        """
        UPDATE webhook_lanes l SET due_at = now()
        FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS c (endpoint_id, shipment_id, leased_until)
        WHERE l.shipment_id = c.shipment_id AND l.endpoint_id = c.endpoint_id AND l.due_at = c.leased_until
        """,
        [c.endpoint_id for c in claimed],
        [c.shipment_id for c in claimed],
        [c.leased_until for c in claimed],
    )


async def make_due(connection: Connection, tenant: str, endpoint_id: str, limit: int) -> int:
    """Lanes that wait for a later attempt are due at once, with all their attempts before them; how many."""
    rows = await connection.fetch(
        """
        UPDATE webhook_lanes SET due_at = now(), attempts = 0 WHERE (shipment_id, endpoint_id) IN (
            SELECT shipment_id, endpoint_id FROM webhook_lanes
            WHERE endpoint_id = $2 AND due_at > now() AND tenant_id = $1
            ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED
        ) RETURNING true
        """,
        tenant,
        endpoint_id,
        limit,
    )
    return len(rows)


async def drop(connection: Connection, days: int, limit: int) -> int:
    """Drop lanes of endpoints that were removed, or disabled so many days ago; how many."""
    rows = await connection.fetch(
        """
        DELETE FROM webhook_lanes WHERE (shipment_id, endpoint_id) IN (
            SELECT l.shipment_id, l.endpoint_id FROM webhook_endpoints e
            CROSS JOIN LATERAL (
                SELECT shipment_id, endpoint_id FROM webhook_lanes
                WHERE endpoint_id = e.id ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
            ) l
            WHERE e.removed_at IS NOT NULL OR e.disabled_at < now() - make_interval(days => $1)
            LIMIT $2
        ) RETURNING true
        """,
        days,
        limit,
    )
    return len(rows)
