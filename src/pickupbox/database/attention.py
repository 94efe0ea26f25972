"""What needs a hand now, of many tenants at once. Each statement reads a bounded number of what is wrong, never all."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pickupbox.database.connection import Connection
from pickupbox.database.removal_pages import HELD

MOST = 100  # then it is "more than 100"
LOOKED_THROUGH = 10_000  # devices of one tenant


@dataclass(frozen=True, slots=True)
class Held:
    """A compartment that awaits removal. `begun`: somebody has commanded its door open."""

    shipment_id: str
    external_order_id: str
    box_id: str
    box_name: str
    code: str
    stage: str
    since: datetime
    begun: bool


@dataclass(frozen=True, slots=True)
class Offline:
    """A box of which nothing is heard, although it was heard of before."""

    box_id: str
    box_name: str
    last_seen_at: datetime


@dataclass(frozen=True, slots=True)
class OpenDoor:
    """A door that stands open for longer than its box allows."""

    box_id: str
    box_name: str
    code: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Failing:
    """An endpoint that does nothing but fail, or that is disabled."""

    endpoint_id: str
    url: str
    failing_since: datetime | None
    disabled_at: datetime | None
    disabled_because: str | None


_BOX = "CROSS JOIN LATERAL (SELECT * FROM boxes WHERE tenant_id = t.id AND id = {}.box_id LIMIT 1) AS b"


async def list_held(connection: Connection, tenants: Sequence[str]) -> dict[str, list[Held]]:
    """What awaits removal, the longest first; at most 101 of each tenant."""
    rows = await connection.fetch(
        f"""
        SELECT t.id, s.id, s.external_order_id, b.id, b.name, s.compartment_code, s.stage, s.updated_at,
            coalesce(r.command_id IS NOT NULL, false)
        FROM unnest($1::text[]) AS t (id) CROSS JOIN LATERAL (
            SELECT * FROM shipments WHERE tenant_id = t.id AND {HELD} ORDER BY updated_at, id LIMIT {MOST + 1}
        ) AS s {_BOX.format("s")}
        LEFT JOIN LATERAL (SELECT command_id FROM removals WHERE shipment_id = s.id LIMIT 1) AS r ON true
        """,
        list(tenants),
    )
    found: dict[str, list[Held]] = {tenant: [] for tenant in tenants}
    for tenant, *values in (row.values() for row in rows):
        found[tenant].append(Held(*values))
    return found


async def list_offline(connection: Connection, tenants: Sequence[str]) -> dict[str, list[Offline]]:
    """Boxes of which the broker said that they are gone, and that were there before; at most 101 of each tenant."""
    rows = await connection.fetch(
        f"""
        SELECT t.id, b.id, b.name, d.last_seen_at FROM unnest($1::text[]) AS t (id) CROSS JOIN LATERAL (
            SELECT box_id, last_seen_at FROM devices
            WHERE tenant_id = t.id AND revoked_at IS NULL AND NOT online AND last_seen_at IS NOT NULL LIMIT {MOST + 1}
        ) AS d {_BOX.format("d")} WHERE b.active
        """,
        list(tenants),
    )
    return _offline(tenants, [list(row.values()) for row in rows])


async def list_silent(connection: Connection, tenants: Sequence[str]) -> dict[str, list[Offline]]:
    """Boxes that fell silent without the broker's word. No index holds them: their heartbeats would have to keep it."""
    rows = await connection.fetch(
        f"""
        SELECT t.id, b.id, b.name, d.last_seen_at FROM unnest($1::text[]) AS t (id) CROSS JOIN LATERAL (
            SELECT box_id, last_seen_at FROM (
                SELECT * FROM devices WHERE tenant_id = t.id ORDER BY id DESC LIMIT {LOOKED_THROUGH}
            ) AS looked
            WHERE revoked_at IS NULL AND online AND last_seen_at < now() - interval '60 seconds' LIMIT {MOST + 1}
        ) AS d {_BOX.format("d")} WHERE b.active
        """,
        list(tenants),
    )
    return _offline(tenants, [list(row.values()) for row in rows])


def _offline(tenants: Sequence[str], rows: Sequence[Sequence[object]]) -> dict[str, list[Offline]]:
    found: dict[str, list[Offline]] = {tenant: [] for tenant in tenants}
    for tenant, *values in rows:
        found[str(tenant)].append(Offline(*values))  # type: ignore[arg-type]
    return found


async def list_open_doors(connection: Connection, tenants: Sequence[str]) -> dict[str, list[OpenDoor]]:
    """Doors that were left open, the longest first; at most 101 of each tenant."""
    rows = await connection.fetch(
        f"""
        SELECT t.id, b.id, b.name, d.code, d.changed_at FROM unnest($1::text[]) AS t (id) CROSS JOIN LATERAL (
            SELECT box_id, code, changed_at FROM doors WHERE tenant_id = t.id AND is_open
            ORDER BY changed_at LIMIT {MOST + 1}
        ) AS d {_BOX.format("d")}
        WHERE d.changed_at < now() - make_interval(secs => b.door_open_seconds) ORDER BY d.changed_at
        """,
        list(tenants),
    )
    found: dict[str, list[OpenDoor]] = {tenant: [] for tenant in tenants}
    for tenant, *values in (row.values() for row in rows):
        found[tenant].append(OpenDoor(*values))
    return found


async def list_failing(connection: Connection, tenants: Sequence[str]) -> dict[str, list[Failing]]:
    """Endpoints that fail or are disabled; a tenant has at most five."""
    rows = await connection.fetch(
        """
        SELECT t.id, e.id, e.url, f.failing_since, e.disabled_at, e.disabled_because
        FROM unnest($1::text[]) AS t (id)
        CROSS JOIN LATERAL (SELECT * FROM webhook_endpoints WHERE tenant_id = t.id AND removed_at IS NULL LIMIT 5) AS e
        LEFT JOIN LATERAL (SELECT failing_since FROM webhook_failures WHERE endpoint_id = e.id LIMIT 1) AS f ON true
        WHERE NOT e.enabled OR f.failing_since IS NOT NULL ORDER BY e.slot
        """,
        list(tenants),
    )
    found: dict[str, list[Failing]] = {tenant: [] for tenant in tenants}
    for tenant, *values in (row.values() for row in rows):
        found[tenant].append(Failing(*values))
    return found
