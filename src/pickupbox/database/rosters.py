"""Rosters: for which live shipments a box may open by itself, and what is withheld until it has forgotten the rest."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pickupbox.database.connection import Connection, Row
from pickupbox.domain.doors import GRANTS
from pickupbox.domain.lifecycle import Stage
from pickupbox.vault import Sealed

# A box has one device that lives; in the form of the index that is made for it.
LIVE_DEVICE = "SELECT * FROM devices WHERE coalesce(revoked_at, 'infinity') = 'infinity' AND box_id"

# Versions that the service may have made and forgotten, when it was set back. What is beyond is not believed: soon
# after it the wire's numbers end, also for the box's next device.
FORGOTTEN = 1_000_000


@dataclass(frozen=True, slots=True)
class Live:
    """A shipment whose PIN opens."""

    tenant_id: str
    id: str
    box_id: str
    compartment_code: str
    stage: Stage
    reservation_expires_at: datetime
    pickup_available_at: datetime | None
    pickup_expires_at: datetime | None
    pin: Sealed


@dataclass(frozen=True, slots=True)
class Made:
    """A new roster of a box, and the device that is to hold it."""

    device_id: str
    box_id: str
    version: int


async def take_changed(connection: Connection, limit: int) -> list[Made]:
    """New versions for boxes whose live shipments changed, leaving out those that another gateway is at.

    Inside a transaction. What is withheld so far is withheld until the box has confirmed this version.
    """
    rows = await connection.fetch(
        """
        WITH taken AS (
            DELETE FROM roster_changes WHERE id IN (
                SELECT id FROM roster_changes WHERE id > 0 ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED
            ) RETURNING box_id
        )
        SELECT DISTINCT box_id FROM taken ORDER BY box_id
        """,
        limit,
    )
    boxes = [row["box_id"] for row in rows]
    if not boxes:
        return []
    rows = await connection.fetch(
        f"""
        WITH made AS (
            UPDATE rosters SET version = version + 1 WHERE box_id = ANY ($1::text[])
            RETURNING tenant_id, box_id, version
        ), marked AS (
            UPDATE compartments c SET withheld_by = m.version FROM made m
            WHERE c.tenant_id = m.tenant_id AND c.box_id = m.box_id
              AND c.withheld_until IS NOT NULL AND c.withheld_by IS NULL
        )
        SELECT d.id, m.box_id, m.version FROM made m CROSS JOIN LATERAL ({LIVE_DEVICE} = m.box_id LIMIT 1) AS d
        """,
        boxes,
    )
    return [Made(*row.values()) for row in rows]


async def list_live(connection: Connection, boxes: Sequence[str]) -> list[Live]:
    rows = await connection.fetch(
        """
        SELECT s.tenant_id, s.id, s.box_id, s.compartment_code, s.stage, s.reservation_expires_at,
            s.pickup_available_at, s.pickup_expires_at, s.pin_secret_id, s.pin_sealed
        FROM rosters r
        JOIN compartments c ON c.tenant_id = r.tenant_id AND c.box_id = r.box_id
        CROSS JOIN LATERAL (SELECT * FROM shipments WHERE id = c.shipment_id AND tenant_id = c.tenant_id LIMIT 1) AS s
        WHERE r.box_id = ANY ($1::text[]) AND s.stage = ANY ($2::text[])
        ORDER BY c.position
        """,
        boxes,
        list(GRANTS),
    )
    return [_live(row) for row in rows]


def _live(row: Row) -> Live:
    values: list[Any] = list(row.values())
    return Live(*values[:4], Stage(values[4]), *values[5:8], Sealed(*values[8:]))  # type: ignore[call-arg] # ten of them


@dataclass(frozen=True, slots=True)
class Compared:
    """How the roster that a device holds compares with its box's newest."""

    leased: bool  # it is the newest, and nothing has changed since
    unconfirmed: bool  # the box's word that it holds it never came
    believed: bool  # else nothing follows from it


async def compare(connection: Connection, held: Sequence[tuple[str, int]]) -> dict[str, Compared]:
    """What each device holds; of those that do not have the newest, a new one is made soon, and the first of a box."""
    rows = await connection.fetch(
        """
        WITH held AS (
            SELECT d.tenant_id, d.box_id, d.id, h.version
            FROM unnest($1::text[], $2::bigint[]) AS h (device_id, version) CROSS JOIN LATERAL (
                SELECT * FROM devices WHERE id = h.device_id AND revoked_at IS NULL LIMIT 1
            ) AS d
        ), compared AS (
            SELECT h.*, r.version IS NOT DISTINCT FROM h.version AS newest, c.id IS NOT NULL AS changed,
                r.version IS NULL AS first, h.version - coalesce(r.version, 0) <= $3 AS believed,
                coalesce(r.confirmed < h.version AND h.version <= r.version, false) AS unconfirmed
            FROM held h
            LEFT JOIN LATERAL (SELECT version, confirmed FROM rosters WHERE box_id = h.box_id LIMIT 1) AS r ON true
            LEFT JOIN LATERAL (SELECT id FROM roster_changes WHERE box_id = h.box_id LIMIT 1) AS c ON true
        ), begun AS (
            INSERT INTO rosters (tenant_id, box_id, version)
            SELECT tenant_id, box_id, version FROM compared WHERE first AND believed ON CONFLICT DO NOTHING
        ), raised AS (
            -- The service was set back to an earlier state: the box must not take what comes for old. Nor does it
            -- confirm by this one what the service made under the same numbers since.
            UPDATE rosters r SET version = c.version, confirmed = c.version
            FROM compared c WHERE r.box_id = c.box_id AND r.version < c.version AND c.believed
        ), asked AS (
            INSERT INTO roster_changes (tenant_id, box_id)
            SELECT tenant_id, box_id FROM compared WHERE NOT newest AND NOT changed AND believed
        )
        SELECT id, newest AND NOT changed AS leased, unconfirmed, believed FROM compared
        """,
        [device for device, _ in held],
        [version for _, version in held],
        FORGOTTEN,
    )
    return {row["id"]: Compared(row["leased"], row["unconfirmed"], row["believed"]) for row in rows}


async def confirm(connection: Connection, device_id: str, version: int) -> None:
    """The box holds this version: what waited for that may be given to the next shipment."""
    await connection.execute(
        """
        WITH confirmed AS (
            UPDATE rosters SET confirmed = $2
            WHERE box_id = (SELECT box_id FROM devices WHERE id = $1 AND revoked_at IS NULL)
              AND confirmed < $2 AND version >= $2
            RETURNING tenant_id, box_id
        )
        UPDATE compartments c SET withheld_until = NULL, withheld_by = NULL FROM confirmed r
        WHERE c.tenant_id = r.tenant_id AND c.box_id = r.box_id AND c.withheld_by <= $2
        """,
        device_id,
        version,
    )


async def is_withheld(connection: Connection, tenant: str, box_id: str) -> bool:
    """Whether a compartment of the box is free but for its box's word, and that word may come any moment."""
    withheld: bool = await connection.fetchval(
        f"""
        SELECT EXISTS (
            SELECT FROM compartments WHERE tenant_id = $1 AND box_id = $2 AND shipment_id IS NULL AND in_service
                AND withheld_until > now()
        ) AND EXISTS ({LIVE_DEVICE} = $2 AND online)
        """,
        tenant,
        box_id,
    )
    return withheld


async def last_heard(connection: Connection, boxes: Sequence[str]) -> dict[str, datetime | None]:
    """Of those boxes that open by themselves: when each was last heard with nothing left to tell."""
    rows = await connection.fetch(
        f"""
        SELECT r.box_id, d.caught_up_at AS heard
        FROM rosters r LEFT JOIN LATERAL ({LIVE_DEVICE} = r.box_id LIMIT 1) AS d ON true
        WHERE r.box_id = ANY ($1::text[])
        """,
        boxes,
    )
    return {row["box_id"]: row["heard"] for row in rows}
