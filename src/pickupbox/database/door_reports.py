"""What boxes reported, entry by entry: history for people, by days, and dropped after 30."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pickupbox.database.connection import Connection

NEWEST = 30


@dataclass(frozen=True, slots=True)
class Report:
    """One entry of a box's journal, with what is known of the command and the shipment behind it."""

    tenant_id: str
    box_id: str
    device_id: str
    boot: str
    seq: int
    occurred_at: datetime | None  # by the box's clock; None: it did not say
    happening: str
    code: str | None
    command_id: str | None
    purpose: str | None
    shipment_id: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Told:
    """A report as a page shows it. `at` is when it was taken."""

    at: datetime
    occurred_at: datetime
    box_id: str
    code: str | None
    happening: str
    purpose: str | None
    shipment_id: str | None
    reason: str | None
    boot: str
    seq: int


_COLUMNS = "at, occurred_at, box_id, code, happening, purpose, shipment_id, reason, boot, seq"


async def insert(connection: Connection, reports: Sequence[Report]) -> None:
    await connection.execute(
        """
        INSERT INTO door_reports (tenant_id, box_id, device_id, boot, seq, occurred_at, happening, code, command_id,
            purpose, shipment_id, reason)
        SELECT tenant_id, box_id, device_id, boot, seq, coalesce(occurred_at, now()), happening, code, command_id,
            purpose, shipment_id, left(reason, 200)
        FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::timestamptz[], $7::text[],
            $8::text[], $9::text[], $10::text[], $11::text[], $12::text[]) AS r (tenant_id, box_id, device_id, boot,
            seq, occurred_at, happening, code, command_id, purpose, shipment_id, reason)
        """,
        [one.tenant_id for one in reports],
        [one.box_id for one in reports],
        [one.device_id for one in reports],
        [one.boot for one in reports],
        [one.seq for one in reports],
        [one.occurred_at for one in reports],
        [one.happening for one in reports],
        [one.code for one in reports],
        [one.command_id for one in reports],
        [one.purpose for one in reports],
        [one.shipment_id for one in reports],
        [one.reason for one in reports],
    )


async def list_newest(connection: Connection, boxes: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[Told]]:
    """The last reports of each (tenant, box), the newest first."""
    rows = await connection.fetch(
        f"""
        SELECT w.tenant_id, r.* FROM unnest($1::text[], $2::text[]) AS w (tenant_id, box_id)
        CROSS JOIN LATERAL (
            SELECT {_COLUMNS} FROM door_reports WHERE tenant_id = w.tenant_id AND box_id = w.box_id
            ORDER BY at DESC, device_id DESC, boot DESC, seq DESC LIMIT {NEWEST}
        ) AS r
        """,
        [tenant for tenant, _ in boxes],
        [box_id for _, box_id in boxes],
    )
    newest: dict[tuple[str, str], list[Told]] = {pair: [] for pair in boxes}
    for tenant, *values in (row.values() for row in rows):
        told = Told(*values)
        newest[tenant, told.box_id].append(told)
    return newest
