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


# LATERAL … LIMIT 1: each row by its key, also when the plan is made while there are few of them.
_DEVICE = """
    CROSS JOIN LATERAL (SELECT * FROM devices WHERE id = w.device_id AND revoked_at IS NULL LIMIT 1) AS d
"""


async def lock(connection: Connection, journals: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Progress]:
    """The progress of each (device, journal), made if it is new; none for a device that is not known or revoked."""
    ordered = sorted(journals)
    devices, boots = [device for device, _ in ordered], [boot for _, boot in ordered]
    found = await _lock(connection, devices, boots)
    if len(found) < len(ordered):
        # SKIP LOCKED: a journal that somebody is busy with goes on, whatever has begun beside it.
        await connection.execute(
            f"""
            WITH begun AS (
                INSERT INTO journals (device_id, boot, seq) SELECT d.id, w.boot, 0
                FROM unnest($1::text[], $2::text[]) AS w (device_id, boot) {_DEVICE} ON CONFLICT DO NOTHING
                RETURNING device_id, boot
            ), before AS (
                SELECT j.device_id, j.boot FROM begun b
                JOIN journals j ON j.device_id = b.device_id AND j.boot <> b.boot AND j.superseded_at IS NULL
                FOR NO KEY UPDATE OF j SKIP LOCKED
            )
            UPDATE journals j SET superseded_at = now() FROM before b
            WHERE j.device_id = b.device_id AND j.boot = b.boot
            """,
            devices,
            boots,
        )
        found = await _lock(connection, devices, boots)
    return found


async def _lock(connection: Connection, devices: list[str], boots: list[str]) -> dict[tuple[str, str], Progress]:
    """In the order in which they are given: two batches that meet must not wait for each other in a circle."""
    rows = await connection.fetch(
        f"""
        SELECT w.device_id, w.boot, d.tenant_id, d.box_id, j.seq
        FROM unnest($1::text[], $2::text[]) AS w (device_id, boot) {_DEVICE}
        CROSS JOIN LATERAL (
            SELECT seq FROM journals WHERE device_id = w.device_id AND boot = w.boot LIMIT 1 FOR UPDATE
        ) AS j
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
        UPDATE journals j SET seq = t.seq, superseded_at = NULL
        FROM unnest($1::text[], $2::text[], $3::bigint[]) AS t (device_id, boot, seq)
        WHERE j.device_id = t.device_id AND j.boot = t.boot
        """,
        [device for device, _, _ in taken],
        [boot for _, boot, _ in taken],
        [seq for _, _, seq in taken],
    )


async def forget(connection: Connection, days: int, limit: int) -> int:
    """Forget journals that were superseded that many days ago; how many."""
    rows = await connection.fetch(
        """
        DELETE FROM journals WHERE (device_id, boot) IN (
            SELECT device_id, boot FROM journals
            WHERE superseded_at < now() - make_interval(days => $1)
            ORDER BY superseded_at LIMIT $2 FOR UPDATE SKIP LOCKED
        ) RETURNING true
        """,
        days,
        limit,
    )
    return len(rows)
