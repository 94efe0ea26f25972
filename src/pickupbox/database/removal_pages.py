"""Removals as the administration shows them: what awaits removal, and how far one removal has come."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pickupbox.database.connection import Connection
from pickupbox.database.devices import PRESENCE
from pickupbox.database.doors import standing
from pickupbox.database.removals import EMERGENCY_MINUTES

PAGE = 100
# As in the index shipments_held.
HELD = "stage IN ('cancelled_held', 'expired_held', 'fault_held')"


@dataclass(frozen=True, slots=True)
class Awaiting:
    """A compartment that awaits removal. `begun`: somebody has commanded its door open."""

    shipment_id: str
    external_order_id: str
    box_id: str
    box_name: str
    location_name: str | None
    address: str | None
    code: str
    stage: str
    since: datetime
    begun: bool


@dataclass(frozen=True, slots=True)
class Cursor:
    since: datetime
    shipment_id: str


async def list_awaiting(connection: Connection, tenant: str, after: Cursor | None) -> list[Awaiting]:
    """What awaits removal, the longest first; at most a page and one more."""
    rows = await connection.fetch(
        f"""
        SELECT s.id, s.external_order_id, b.id, b.name, b.location_name, b.address, s.compartment_code, s.stage,
            s.updated_at, coalesce(r.command_id IS NOT NULL, false)
        FROM shipments s
        CROSS JOIN LATERAL (SELECT * FROM boxes WHERE tenant_id = s.tenant_id AND id = s.box_id LIMIT 1) AS b
        LEFT JOIN LATERAL (SELECT command_id FROM removals WHERE shipment_id = s.id LIMIT 1) AS r ON true
        WHERE s.tenant_id = $1 AND s.{HELD} AND (s.updated_at, s.id) > ($2, $3)
        ORDER BY s.updated_at, s.id LIMIT {PAGE + 1}
        """,
        tenant,
        after.since if after else datetime.min,  # noqa: DTZ901 - asyncpg writes it as -infinity
        after.shipment_id if after else "",
    )
    return [Awaiting(*row.values()) for row in rows]


@dataclass(frozen=True, slots=True)
class View:
    """One removal, with all that its page derives from. Nothing in it changes by time alone but `expired`."""

    tenant_id: str
    shipment_id: str
    external_order_id: str
    stage: str
    since: datetime
    loaded_at: datetime | None
    released_at: datetime | None
    box_id: str
    box_name: str
    location_name: str | None
    address: str | None
    code: str
    is_open: bool | None
    moved_at: datetime | None
    device_id: str | None
    presence: str
    command_id: str | None
    expired: bool
    sent_at: datetime | None
    outcome: str | None
    outcome_reason: str | None
    cycle: str
    emergency_by: str | None  # whose word still counts
    emergency_reason: str | None
    emergency_at: datetime | None
    told: Sequence[str]  # of removed and door_available, what was told
    next_id: str | None  # another one of the same box that awaits removal, the longest waiting
    next_code: str | None


async def read_views(connection: Connection, shipments: Sequence[tuple[str, str]]) -> dict[tuple[str, str], View]:
    """The removals of these (tenant, shipment); a shipment that the tenant does not have is not among them."""
    rows = await connection.fetch(
        f"""
        SELECT s.tenant_id, s.id, s.external_order_id, s.stage, s.updated_at, s.loaded_at, s.released_at, b.id,
            b.name, b.location_name, b.address, s.compartment_code,
            {standing("o.is_open", "s.box_id", "s.compartment_code")}, o.changed_at, d.id,
            coalesce(d.presence, 'none'), c.id, coalesce(c.expires_at <= now(), false), c.sent_at,
            c.outcome, c.outcome_reason, coalesce(r.cycle, 'none'), e.emergency_by, e.emergency_reason, e.emergency_at,
            coalesce(t.told, '{{}}'), n.id, n.compartment_code
        FROM unnest($1::text[], $2::text[]) AS w (tenant_id, id)
        CROSS JOIN LATERAL (SELECT * FROM shipments WHERE id = w.id AND tenant_id = w.tenant_id LIMIT 1) AS s
        CROSS JOIN LATERAL (SELECT * FROM boxes WHERE tenant_id = s.tenant_id AND id = s.box_id LIMIT 1) AS b
        LEFT JOIN LATERAL (
            SELECT * FROM doors WHERE box_id = s.box_id AND code = s.compartment_code LIMIT 1
        ) AS o ON true
        LEFT JOIN LATERAL (
            SELECT id, {PRESENCE} AS presence FROM devices
            WHERE box_id = s.box_id AND coalesce(revoked_at, 'infinity') = 'infinity' AND tenant_id = s.tenant_id
            LIMIT 1
        ) AS d ON true
        LEFT JOIN LATERAL (SELECT * FROM removals WHERE shipment_id = s.id LIMIT 1) AS r ON true
        LEFT JOIN LATERAL (SELECT * FROM door_commands WHERE id = r.command_id LIMIT 1) AS c ON true
        LEFT JOIN LATERAL (
            SELECT r.* WHERE r.emergency_at > now() - make_interval(mins => {EMERGENCY_MINUTES})
        ) AS e ON true
        LEFT JOIN LATERAL (
            SELECT array_agg(type ORDER BY sequence) AS told FROM events
            WHERE shipment_id = s.id AND tenant_id = s.tenant_id AND shipment_created_at = s.created_at
              AND type IN ('removed', 'door_available') AND s.released_at IS NOT NULL
        ) AS t ON true
        LEFT JOIN LATERAL (
            SELECT h.id, h.compartment_code FROM compartments k CROSS JOIN LATERAL (
                SELECT * FROM shipments WHERE id = k.shipment_id AND tenant_id = k.tenant_id LIMIT 1
            ) AS h
            WHERE k.tenant_id = s.tenant_id AND k.box_id = s.box_id AND h.{HELD} AND h.id <> s.id
            ORDER BY h.updated_at, h.id LIMIT 1
        ) AS n ON true
        """,
        [tenant for tenant, _ in shipments],
        [shipment_id for _, shipment_id in shipments],
    )
    views = [View(*row.values()) for row in rows]
    return {(view.tenant_id, view.shipment_id): view for view in views}
