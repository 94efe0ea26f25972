"""All that is known of one shipment, from six tables in one order of time, the newest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pickupbox.database.connection import Connection
from pickupbox.database.doors import standing
from pickupbox.domain.shipment import Shipment


@dataclass(frozen=True, slots=True)
class Moment:
    """One entry. `source` says which table it is of, and so what the other fields mean.

    event: `what` the event's type, or `protected`, of which the shop is not told.
    command: `what` its purpose, `outcome` and `detail` what became of it.
    door: `what` was reported; `detail` the reason. webhook: `what` the event's type, `outcome` of the attempt, `detail`
    the HTTP status or error, `place` the endpoint. audit: `what` the action.
    """

    at: datetime
    source: str
    what: str
    actor: str | None
    outcome: str | None
    detail: str | None
    place: str | None
    number: int


@dataclass(frozen=True, slots=True)
class Place:
    """The box and door of a shipment. `is_open` is None if the door was never heard of."""

    box_name: str
    location_name: str | None
    address: str | None
    is_open: bool | None
    moved_at: datetime | None


async def read_place(connection: Connection, shipment: Shipment) -> Place:
    row = await connection.fetchrow(
        f"""
        SELECT b.name, b.location_name, b.address, {standing("d.is_open", "b.id", "$3")}, d.changed_at FROM boxes b
        LEFT JOIN LATERAL (SELECT * FROM doors WHERE box_id = b.id AND code = $3 LIMIT 1) AS d ON true
        WHERE b.tenant_id = $1 AND b.id = $2
        """,
        shipment.tenant_id,
        shipment.box_id,
        shipment.compartment_code,
    )
    if row is None:
        raise RuntimeError("a shipment without its box")
    return Place(*row.values())


# Whatever moves the story moves one of these: a step, the door, a command or its outcome, what endpoints are to hear.
MARKS = """
    SELECT s.tenant_id, s.id, concat_ws(' ', s.event_count, s.stage, s.updated_at, d.changed_at, c.mark, l.mark) AS mark
    FROM unnest($1::text[], $2::text[]) AS w (tenant_id, id)
    CROSS JOIN LATERAL (SELECT * FROM shipments WHERE id = w.id AND tenant_id = w.tenant_id LIMIT 1) AS s
    LEFT JOIN LATERAL (
        SELECT changed_at FROM doors WHERE box_id = s.box_id AND code = s.compartment_code LIMIT 1
    ) AS d ON true
    LEFT JOIN LATERAL (
        SELECT string_agg(id || coalesce(outcome, ''), ' ' ORDER BY id) AS mark FROM door_commands
        WHERE shipment_id = s.id
    ) AS c ON true
    LEFT JOIN LATERAL (
        SELECT string_agg(concat_ws('/', endpoint_id, waiting, attempts), ' ' ORDER BY endpoint_id) AS mark
        FROM webhook_lanes WHERE shipment_id = s.id
    ) AS l ON true
"""


async def read_marks(connection: Connection, wanted: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    rows = await connection.fetch(MARKS, [tenant for tenant, _ in wanted], [shipment_id for _, shipment_id in wanted])
    return {(row["tenant_id"], row["id"]): row["mark"] for row in rows}


# Each table by the shipment's own index, then cut: what one shipment gathers is little, but a replay has no end.
# An event of the same moment as its audit entry or command is told after it, so it is the newer one.
MOMENTS = """
    SELECT at, source, what, actor, outcome, detail, place, number FROM (
        (SELECT occurred_at AS at, 'event' AS source, type AS what, NULL AS actor, NULL AS outcome, NULL AS detail,
            NULL AS place, sequence AS number, 5 AS turn
        FROM events WHERE shipment_id = $2 AND tenant_id = $1 AND shipment_created_at = $3 AND occurred_at <= $4
        ORDER BY sequence DESC LIMIT $5)
        UNION ALL
        (SELECT loaded_at, 'event', 'protected', NULL, NULL, NULL, NULL, 0, 5
        FROM shipments WHERE id = $2 AND tenant_id = $1 AND loaded_at <= $4 LIMIT 1)
        UNION ALL
        (SELECT created_at, 'command', purpose, actor, outcome, outcome_reason, compartment_code, 0, 2
        FROM door_commands WHERE shipment_id = $2 AND tenant_id = $1 AND created_at <= $4
        ORDER BY created_at DESC LIMIT $5)
        UNION ALL
        (SELECT at, 'door', happening, NULL, purpose, reason, code, seq::int, 4
        FROM door_reports WHERE shipment_id = $2 AND tenant_id = $1 AND at <= $4 ORDER BY at DESC LIMIT $5)
        UNION ALL
        (SELECT at, 'webhook', event_type, NULL, outcome, coalesce(status::text, error), endpoint_id, number, 6
        FROM webhook_attempts WHERE shipment_id = $2 AND tenant_id = $1 AND at <= $4 ORDER BY at DESC LIMIT $5)
        UNION ALL
        (SELECT at, 'audit', action, actor, NULL, NULL, NULL, 0, 1
        FROM audit WHERE object = $2 AND tenant_id = $1 AND at <= $4 ORDER BY at DESC LIMIT $5)
    ) AS moments ORDER BY at DESC, turn DESC, number DESC LIMIT $5
"""


async def read(
    connection: Connection, shipment: Shipment, until: datetime | None, limit: int
) -> tuple[list[Moment], datetime | None]:
    """The newest moments up to `until`, and from when on the older ones go on; None: there are none."""
    rows = await connection.fetch(
        MOMENTS,
        shipment.tenant_id,
        shipment.id,
        shipment.created_at,
        until or datetime.max,  # noqa: DTZ901 - asyncpg writes it as infinity
        limit + 1,
    )
    moments = [Moment(*row.values()) for row in rows]
    if len(moments) <= limit:
        return moments, None
    # A page ends between two times, so that none is shown twice or left out; unless all are of one.
    border = moments[-1].at
    whole = [moment for moment in moments if moment.at > border]
    return (whole, border) if whole else (moments[:limit], None)


async def names_of_keys(connection: Connection, tenant: str, ids: Sequence[str]) -> dict[str, str]:
    rows = await connection.fetch(
        "SELECT id, name FROM api_keys WHERE tenant_id = $1 AND id = ANY ($2::text[])", tenant, list(ids)
    )
    return {row["id"]: row["name"] for row in rows}


async def names_of_endpoints(connection: Connection, tenant: str, ids: Sequence[str]) -> dict[str, str]:
    rows = await connection.fetch(
        "SELECT id, url FROM webhook_endpoints WHERE tenant_id = $1 AND id = ANY ($2::text[])", tenant, list(ids)
    )
    return {row["id"]: row["url"] for row in rows}
