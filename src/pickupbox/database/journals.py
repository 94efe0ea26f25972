"""Journals of boxes: how far each is committed, and where its box stands."""

from collections.abc import Sequence
from dataclasses import dataclass

from pickupbox.database.connection import Connection


@dataclass(frozen=True, slots=True)
class Progress:
    """A journal whose row is ours until the commit."""

    tenant_id: str
    box_id: str
    seq: int


# LATERAL: each device by its key, also when the plan is made while there are few of them.
_DEVICE = """
    CROSS JOIN LATERAL (SELECT * FROM devices WHERE id = w.device_id AND revoked_at IS NULL LIMIT 1) AS d
"""


async def lock(connection: Connection, journals: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Progress]:
    """The progress of each (device, journal), made if it is new; none for a device that is not known or revoked."""
    ordered = sorted(journals)
    devices, boots = [device for device, _ in ordered], [boot for _, boot in ordered]
    found = await _lock(connection, devices, boots)
    if len(found) < len(ordered):
        await connection.execute(
            f"""
            INSERT INTO journals (device_id, boot, seq) SELECT d.id, w.boot, 0
            FROM unnest($1::text[], $2::text[]) AS w (device_id, boot) {_DEVICE} ON CONFLICT DO NOTHING
            """,
            devices,
            boots,
        )
        found = await _lock(connection, devices, boots)
    return found


async def _lock(connection: Connection, devices: list[str], boots: list[str]) -> dict[tuple[str, str], Progress]:
    rows = await connection.fetch(
        f"""
        SELECT j.device_id, j.boot, d.tenant_id, d.box_id, j.seq
        FROM unnest($1::text[], $2::text[]) AS w (device_id, boot) {_DEVICE}
        JOIN journals j ON j.device_id = w.device_id AND j.boot = w.boot
        ORDER BY j.device_id, j.boot FOR UPDATE OF j
        """,
        devices,
        boots,
    )
    return {
        (device, boot): Progress(tenant, box_id, seq)
        for device, boot, tenant, box_id, seq in (row.values() for row in rows)
    }


async def save(connection: Connection, taken: Sequence[tuple[str, str, int]]) -> None:
    """Device, journal and number of the last entry that this transaction has taken."""
    await connection.execute(
        """
        UPDATE journals j SET seq = t.seq FROM unnest($1::text[], $2::text[], $3::bigint[]) AS t (device_id, boot, seq)
        WHERE j.device_id = t.device_id AND j.boot = t.boot
        """,
        [device for device, _, _ in taken],
        [boot for _, boot, _ in taken],
        [seq for _, _, seq in taken],
    )
