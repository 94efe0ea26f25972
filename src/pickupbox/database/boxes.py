"""Boxes and their compartments."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from pickupbox.database.connection import Connection
from pickupbox.database.doors import standing


@dataclass(frozen=True, slots=True)
class Box:
    id: str
    name: str
    location_name: str | None
    address: str | None


@dataclass(frozen=True, slots=True)
class BoxSetup:
    """How a box is set up, with everything that can be set."""

    name: str
    location_name: str | None
    address: str | None
    reservation_ttl_minutes: int
    pickup_ttl_minutes: int
    protection_seconds: int
    cooldown_seconds: int
    door_open_seconds: int


@dataclass(frozen=True, slots=True)
class BoxRead:
    """One box as its tenant sees it."""

    id: str
    active: bool
    created_at: datetime
    setup: BoxSetup


@dataclass(frozen=True, slots=True)
class BoxOverview:
    id: str
    name: str
    active: bool
    compartments: int
    free: int


@dataclass(frozen=True, slots=True)
class Compartment:
    """A compartment as an operator sees it. `is_open` is None if its door was never heard of."""

    code: str
    in_service: bool
    withheld: bool
    is_open: bool | None
    shipment_id: str | None
    stage: str | None


async def list_compartments(connection: Connection, tenant: str, box_id: str) -> list[Compartment]:
    rows = await connection.fetch(
        f"""
        SELECT c.code, c.in_service, coalesce(c.withheld_until > now(), false),
            {standing("d.is_open", "c.box_id", "c.code")}, s.id, s.stage
        FROM compartments c
        LEFT JOIN doors d ON d.box_id = c.box_id AND d.code = c.code
        LEFT JOIN shipments s ON s.tenant_id = c.tenant_id AND s.id = c.shipment_id
        WHERE c.tenant_id = $1 AND c.box_id = $2 ORDER BY c.position
        """,
        tenant,
        box_id,
    )
    return [Compartment(*row.values()) for row in rows]


async def list_active(connection: Connection, tenant: str) -> list[Box]:
    rows = await connection.fetch(
        "SELECT id, name, location_name, address FROM boxes WHERE tenant_id = $1 AND active ORDER BY name, id",
        tenant,
    )
    return [Box(*row.values()) for row in rows]


async def is_active(connection: Connection, tenant: str, box_id: str) -> bool:
    """Whether the tenant has such a box and offers it."""
    active: bool | None = await connection.fetchval(
        "SELECT active FROM boxes WHERE tenant_id = $1 AND id = $2", tenant, box_id
    )
    return active is True


async def list_overview(connection: Connection, tenant: str) -> list[BoxOverview]:
    rows = await connection.fetch(
        """
        SELECT b.id, b.name, b.active, count(c.code)::int,
               count(c.code) FILTER (WHERE c.shipment_id IS NULL AND c.in_service)::int
        FROM boxes b LEFT JOIN compartments c ON c.tenant_id = b.tenant_id AND c.box_id = b.id
        WHERE b.tenant_id = $1 GROUP BY b.id, b.name, b.active ORDER BY b.name, b.id LIMIT 10000
        """,
        tenant,
    )
    return [BoxOverview(*row.values()) for row in rows]


async def insert(connection: Connection, tenant: str, box_id: str, setup: BoxSetup, codes: Sequence[str]) -> bool:
    """Make a box with its compartments; False if there is no such tenant."""
    try:
        await connection.execute(
            """
            INSERT INTO boxes (tenant_id, id, name, location_name, address, reservation_ttl_minutes,
                pickup_ttl_minutes, protection_seconds, cooldown_seconds, door_open_seconds)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            """,
            tenant,
            box_id,
            setup.name,
            setup.location_name,
            setup.address,
            setup.reservation_ttl_minutes,
            setup.pickup_ttl_minutes,
            setup.protection_seconds,
            setup.cooldown_seconds,
            setup.door_open_seconds,
        )
    except asyncpg.ForeignKeyViolationError:
        return False
    await connection.execute(
        """
        INSERT INTO compartments (tenant_id, box_id, code, position)
        SELECT $1, $2, code, position FROM unnest($3::text[]) WITH ORDINALITY AS c (code, position)
        """,
        tenant,
        box_id,
        list(codes),
    )
    return True


async def read(connection: Connection, tenant: str, box_id: str) -> BoxRead | None:
    row = await connection.fetchrow(
        """
        SELECT id, active, created_at, name, location_name, address, reservation_ttl_minutes, pickup_ttl_minutes,
            protection_seconds, cooldown_seconds, door_open_seconds
        FROM boxes WHERE tenant_id = $1 AND id = $2
        """,
        tenant,
        box_id,
    )
    if row is None:
        return None
    found, active, created_at, *setup = row.values()
    return BoxRead(found, active, created_at, BoxSetup(*setup))


async def lock_setup(connection: Connection, tenant: str, box_id: str) -> BoxSetup | None:
    """How the box is set up; its row is locked."""
    row = await connection.fetchrow(
        """
        SELECT name, location_name, address, reservation_ttl_minutes, pickup_ttl_minutes, protection_seconds,
            cooldown_seconds, door_open_seconds
        FROM boxes WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE
        """,
        tenant,
        box_id,
    )
    return BoxSetup(*row.values()) if row else None


async def save_setup(connection: Connection, tenant: str, box_id: str, setup: BoxSetup) -> None:
    await connection.execute(
        """
        UPDATE boxes SET name = $3, location_name = $4, address = $5, reservation_ttl_minutes = $6,
            pickup_ttl_minutes = $7, protection_seconds = $8, cooldown_seconds = $9, door_open_seconds = $10
        WHERE tenant_id = $1 AND id = $2
        """,
        tenant,
        box_id,
        setup.name,
        setup.location_name,
        setup.address,
        setup.reservation_ttl_minutes,
        setup.pickup_ttl_minutes,
        setup.protection_seconds,
        setup.cooldown_seconds,
        setup.door_open_seconds,
    )


async def set_active(connection: Connection, tenant: str, box_id: str, *, active: bool) -> bool:
    changed = await connection.fetchval(
        "UPDATE boxes SET active = $3 WHERE tenant_id = $1 AND id = $2 RETURNING true", tenant, box_id, active
    )
    return changed is not None


async def set_in_service(connection: Connection, tenant: str, box_id: str, code: str, *, in_service: bool) -> bool:
    changed = await connection.fetchval(
        """
        UPDATE compartments SET in_service = $4 WHERE tenant_id = $1 AND box_id = $2 AND code = $3
        RETURNING true
        """,
        tenant,
        box_id,
        code,
        in_service,
    )
    return changed is not None
