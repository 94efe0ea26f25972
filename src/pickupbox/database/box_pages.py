"""Boxes as the administration shows them: the list page by page, and whole cabinets, many in one statement."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pickupbox.database.connection import Connection
from pickupbox.database.devices import PRESENCE
from pickupbox.database.doors import standing
from pickupbox.database.removal_pages import HELD

PAGE = 50
SCAN = 10_000  # boxes that one page of a search or a filter looks at; who wants more goes on from there
NEEDY = 5_000  # compartments that may need a hand at a time


@dataclass(frozen=True, slots=True)
class Row:
    """A box in the list. `presence` is as in Device, or `none` if no device speaks for it."""

    id: str
    name: str
    location_name: str | None
    address: str | None
    active: bool
    compartments: int
    free: int
    held: int
    out_of_service: int
    presence: str
    last_seen_at: datetime | None


@dataclass(frozen=True, slots=True)
class Cursor:
    """Behind which box the next page begins."""

    name: str
    id: str


@dataclass(frozen=True, slots=True)
class Page:
    rows: Sequence[Row]
    next: Cursor | None


_DEVICE = f"""
    SELECT id, enrolled_at, certificate_until, code_until, last_seen_at, software, {PRESENCE} AS presence FROM devices
    WHERE box_id = b.id AND coalesce(revoked_at, 'infinity') = 'infinity' AND tenant_id = b.tenant_id LIMIT 1
"""
_COUNTED = f"""
    SELECT count(*)::int AS compartments,
        count(*) FILTER (WHERE c.shipment_id IS NULL AND c.in_service)::int AS free,
        count(*) FILTER (WHERE s.{HELD})::int AS held,
        count(*) FILTER (WHERE NOT c.in_service)::int AS out_of_service
    FROM compartments c LEFT JOIN LATERAL (
        SELECT stage FROM shipments WHERE id = c.shipment_id AND tenant_id = c.tenant_id LIMIT 1
    ) AS s ON true
    WHERE c.tenant_id = b.tenant_id AND c.box_id = b.id
"""
# Which boxes come next by name and id, and which of them are wanted. `last` is where the search has come to.
_ALL = f"""
    WITH seen AS MATERIALIZED (
        SELECT * FROM boxes WHERE tenant_id = $1 AND (name, id) > ($2, $3) ORDER BY name, id LIMIT {SCAN}
    ), wanted AS MATERIALIZED (
        SELECT b.* FROM seen b
        WHERE ($4 = '' OR strpos(lower(b.name), $4) > 0 OR strpos(lower(b.location_name), $4) > 0
            OR strpos(lower(b.address), $4) > 0 OR b.id = $4)
          AND (NOT $5 OR NOT EXISTS (
            SELECT FROM devices d WHERE d.box_id = b.id AND coalesce(d.revoked_at, 'infinity') = 'infinity'
              AND d.online AND d.last_seen_at >= now() - interval '60 seconds'
          ))
        ORDER BY b.name, b.id LIMIT {PAGE + 1}
    ), last AS (
        SELECT name, id FROM seen OFFSET {SCAN - 1}
    )
"""
# Few of many need a hand: they are found first, and then put in order.
_NEEDY = f"""
    WITH needy AS MATERIALIZED (
        SELECT box_id FROM (
            SELECT box_id FROM shipments WHERE tenant_id = $1 AND {HELD} ORDER BY updated_at, id LIMIT {NEEDY}
        ) AS held
        UNION
        SELECT box_id FROM (
            SELECT box_id FROM compartments WHERE tenant_id = $1 AND NOT in_service LIMIT {NEEDY}
        ) AS doubtful
    ), wanted AS MATERIALIZED (
        SELECT b.* FROM needy n CROSS JOIN LATERAL (
            SELECT * FROM boxes WHERE tenant_id = $1 AND id = n.box_id LIMIT 1
        ) AS b
        WHERE (b.name, b.id) > ($2, $3) AND ($4 = '' OR strpos(lower(b.name), $4) > 0
            OR strpos(lower(b.location_name), $4) > 0 OR strpos(lower(b.address), $4) > 0 OR b.id = $4) AND NOT $5
        ORDER BY b.name, b.id LIMIT {PAGE + 1}
    ), last AS (
        SELECT NULL::text AS name, NULL::text AS id WHERE false
    )
"""
_SHOWN = f"""
    SELECT b.id, b.name, b.location_name, b.address, b.active, n.compartments, n.free, n.held, n.out_of_service,
        coalesce(d.presence, 'none') AS presence, d.last_seen_at,
        (SELECT name FROM last) AS last_name, (SELECT id FROM last) AS last_id
    FROM (SELECT 1) AS one LEFT JOIN wanted b ON true
    LEFT JOIN LATERAL ({_COUNTED}) AS n ON true LEFT JOIN LATERAL ({_DEVICE}) AS d ON true
    ORDER BY b.name, b.id
"""


async def list_page(
    connection: Connection, tenant: str, after: Cursor | None, *, search: str = "", only: str = "all"
) -> Page:
    """The next boxes by name; `search` in name, location or address; `only`: all, offline or hand."""
    rows = await connection.fetch(
        (_NEEDY if only == "hand" else _ALL) + _SHOWN,
        tenant,
        after.name if after else "",
        after.id if after else "",
        search.lower(),
        only == "offline",
    )
    *_, last_name, last_id = rows[0].values()
    found = [Row(*list(row.values())[:-2]) for row in rows if row["id"] is not None]
    if len(found) > PAGE:
        found = found[:PAGE]
        return Page(found, Cursor(found[-1].name, found[-1].id))
    return Page(found, Cursor(last_name, last_id) if last_id is not None else None)


@dataclass(frozen=True, slots=True)
class Door:
    """A compartment in the cabinet. `is_open` is None if its door was never heard of."""

    code: str
    in_service: bool
    withheld: bool
    is_open: bool | None
    moved_at: datetime | None
    shipment_id: str | None
    stage: str | None
    since: datetime | None
    due_at: datetime | None


async def read_doors(
    connection: Connection, boxes: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], tuple[Door, ...]]:
    """The cabinets of these (tenant, box), in order; a box that the tenant does not have is not among them."""
    rows = await connection.fetch(
        f"""
        SELECT w.tenant_id, w.id, c.code, c.in_service, coalesce(c.withheld_until > now(), false),
            {standing("o.is_open", "c.box_id", "c.code")}, o.changed_at, s.id, s.stage, s.updated_at, s.due_at
        FROM unnest($1::text[], $2::text[]) AS w (tenant_id, id)
        JOIN compartments c ON c.tenant_id = w.tenant_id AND c.box_id = w.id
        LEFT JOIN LATERAL (SELECT * FROM doors WHERE box_id = c.box_id AND code = c.code LIMIT 1) AS o ON true
        LEFT JOIN LATERAL (
            SELECT * FROM shipments WHERE id = c.shipment_id AND tenant_id = c.tenant_id LIMIT 1
        ) AS s ON true
        ORDER BY w.tenant_id, w.id, c.position
        """,
        [tenant for tenant, _ in boxes],
        [box_id for _, box_id in boxes],
    )
    doors: dict[tuple[str, str], list[Door]] = {}
    for tenant, box_id, *door in (row.values() for row in rows):
        doors.setdefault((tenant, box_id), []).append(Door(*door))
    return {place: tuple(found) for place, found in doors.items()}


@dataclass(frozen=True, slots=True)
class Pulse:
    """Whether a box is there, and who speaks for it. `presence` is as in Device, or `none` if no device does."""

    active: bool
    presence: str
    device_id: str | None
    enrolled_at: datetime | None
    certificate_until: datetime | None
    code_until: datetime | None
    last_seen_at: datetime | None
    software: str | None


async def read_pulses(connection: Connection, boxes: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Pulse]:
    """Of these (tenant, box); a box that the tenant does not have is not among them."""
    rows = await connection.fetch(
        f"""
        SELECT b.tenant_id, b.id, b.active, coalesce(d.presence, 'none'), d.id, d.enrolled_at, d.certificate_until,
            d.code_until, d.last_seen_at, d.software
        FROM unnest($1::text[], $2::text[]) AS w (tenant_id, id)
        CROSS JOIN LATERAL (SELECT * FROM boxes WHERE tenant_id = w.tenant_id AND id = w.id LIMIT 1) AS b
        LEFT JOIN LATERAL ({_DEVICE}) AS d ON true
        """,
        [tenant for tenant, _ in boxes],
        [box_id for _, box_id in boxes],
    )
    return {(tenant, box_id): Pulse(*pulse) for tenant, box_id, *pulse in (row.values() for row in rows)}
