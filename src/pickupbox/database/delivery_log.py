"""Attempts to deliver as people look at them, by endpoint or by event; what still waits; and how an endpoint does."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from pickupbox.database.attempts import Attempt
from pickupbox.database.connection import Connection


class Place(NamedTuple):
    """Where in an endpoint's log to go on, towards the past."""

    at: datetime
    event_id: str


@dataclass(frozen=True, slots=True)
class Event:
    id: str
    type: str
    occurred_at: datetime
    shipment_id: str
    sequence: int
    data: str
    endpoints: list[str] | None  # that subscribed when it was told


@dataclass(frozen=True, slots=True)
class Waiting:
    """An event that an endpoint still has to be told."""

    endpoint_id: str
    ahead: int  # events of the same shipment that go first
    attempts: int  # that were made for the one that goes first
    due_at: datetime
    resume_at: datetime | None  # while the endpoint backs off as a whole
    enabled: bool


@dataclass(frozen=True, slots=True)
class Backlog:
    lanes: int  # shipments with something to tell, counted up to a limit
    due_at: datetime | None  # of the first


_COLUMNS = "at, event_id, event_type, shipment_id, number, outcome, status, error, milliseconds, answer"


async def list_before(
    connection: Connection,
    tenant: str,
    endpoint_id: str,
    before: Place,
    limit: int,
    *,
    look: int,
    outcomes: Sequence[str] | None = None,
    event_type: str | None = None,
) -> list[Attempt]:
    """The newest before that place of such an outcome and type, among the next `look` of the endpoint's.

    Attempts that were settled together have the same time. The last of those times may have been cut off by the limit
    of the look: it is left to the next one.
    """
    rows = await connection.fetch(
        f"""
        WITH looked AS MATERIALIZED (
            SELECT tenant_id, {_COLUMNS} FROM webhook_attempts WHERE endpoint_id = $2 AND at <= $3
            ORDER BY at DESC LIMIT $5
        )
        SELECT {_COLUMNS} FROM looked
        WHERE tenant_id = $1 AND (at, event_id) < ($3, $4)
          AND ((SELECT count(*) FROM looked) < $5 OR at > (SELECT min(at) FROM looked))
          AND ($6::text[] IS NULL OR outcome = ANY ($6)) AND ($7::text IS NULL OR event_type = $7)
        ORDER BY at DESC, event_id DESC LIMIT $8
        """,
        tenant,
        endpoint_id,
        before.at,
        before.event_id,
        look,
        list(outcomes) if outcomes else None,
        event_type,
        limit,
    )
    return [Attempt(*row.values()) for row in rows]


async def place_after(connection: Connection, endpoint_id: str, before: Place, look: int) -> datetime | None:
    """The time at which a look at so many ends; None if there are not so many."""
    at: datetime | None = await connection.fetchval(
        """
        SELECT at FROM webhook_attempts WHERE endpoint_id = $1 AND at <= $2 ORDER BY at DESC OFFSET $3 - 1 LIMIT 1
        """,
        endpoint_id,
        before.at,
        look,
    )
    return at


async def find_event(connection: Connection, tenant: str, event_id: str) -> Event | None:
    row = await connection.fetchrow(
        """
        SELECT id, type, occurred_at, shipment_id, sequence, data, endpoints FROM events
        WHERE id = $2 AND tenant_id = $1 LIMIT 1
        """,
        tenant,
        event_id,
    )
    return Event(*row.values()) if row else None


async def list_of_event(
    connection: Connection, tenant: str, shipment_id: str, event_id: str, limit: int
) -> list[tuple[str, Attempt]]:
    """Every attempt to tell one event, with the endpoint, newest first."""
    rows = await connection.fetch(
        f"""
        SELECT endpoint_id, {_COLUMNS} FROM webhook_attempts
        WHERE shipment_id = $2 AND tenant_id = $1 AND event_id = $3 ORDER BY at DESC LIMIT $4
        """,
        tenant,
        shipment_id,
        event_id,
        limit,
    )
    return [(row["endpoint_id"], Attempt(*list(row.values())[1:])) for row in rows]


async def list_waiting(connection: Connection, tenant: str, shipment_id: str, sequence: int) -> list[Waiting]:
    """Which endpoints still have to be told one event, and when."""
    rows = await connection.fetch(
        """
        SELECT l.endpoint_id, array_position(l.waiting, $3) - 1 AS ahead, l.attempts, l.due_at, f.resume_at,
               e.enabled AND e.removed_at IS NULL
        FROM webhook_lanes l
        -- Lateral: a plan made while the table is empty must go by the key, too.
        CROSS JOIN LATERAL (SELECT * FROM webhook_endpoints WHERE id = l.endpoint_id LIMIT 1) AS e
        LEFT JOIN LATERAL (SELECT * FROM webhook_failures WHERE endpoint_id = l.endpoint_id LIMIT 1) AS f ON true
        WHERE l.shipment_id = $2 AND l.tenant_id = $1 AND $3 = ANY (l.waiting)
        """,
        tenant,
        shipment_id,
        sequence,
    )
    return [Waiting(*row.values()) for row in rows]


async def latest(connection: Connection, tenant: str, endpoint_ids: Sequence[str]) -> dict[str, Attempt]:
    """The last attempt of each endpoint that has one."""
    rows = await connection.fetch(
        f"""
        SELECT e.id, a.* FROM unnest($2::text[]) AS e (id)
        CROSS JOIN LATERAL (
            SELECT tenant_id, {_COLUMNS} FROM webhook_attempts WHERE endpoint_id = e.id ORDER BY at DESC LIMIT 1
        ) a WHERE a.tenant_id = $1
        """,
        tenant,
        list(endpoint_ids),
    )
    return {row["id"]: Attempt(*list(row.values())[2:]) for row in rows}


async def backlogs(connection: Connection, tenant: str, endpoint_ids: Sequence[str], limit: int) -> dict[str, Backlog]:
    """How much waits for each endpoint, counted up to the limit."""
    async with connection.transaction():
        # Most endpoints have few lanes, so PostgreSQL would gather and sort them all: of a dead one, a million.
        await connection.execute("SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
        rows = await connection.fetch(
            """
            SELECT e.id, w.lanes, w.due_at FROM unnest($2::text[]) AS e (id)
            CROSS JOIN LATERAL (
                SELECT count(*) AS lanes, min(first.due_at) AS due_at FROM (
                    SELECT tenant_id, due_at FROM webhook_lanes WHERE endpoint_id = e.id ORDER BY due_at LIMIT $3
                ) first WHERE first.tenant_id = $1
            ) w
            """,
            tenant,
            list(endpoint_ids),
            limit,
        )
    return {row["id"]: Backlog(row["lanes"], row["due_at"]) for row in rows}
