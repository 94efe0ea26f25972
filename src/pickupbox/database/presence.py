"""Which boxes live, as their heartbeats and the broker say, written in batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pickupbox.database.connection import Connection


@dataclass(frozen=True, slots=True)
class Beat:
    device_id: str
    boot: str
    last: int  # the last number that the box has written
    software: str
    open_doors: Sequence[str]


async def save(connection: Connection, beats: Sequence[Beat]) -> list[int | None]:
    """Note that the devices live; how far each one's journal is committed, None for a device that is not known."""
    rows = await connection.fetch(
        """
        WITH beat AS (
            SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[])
            WITH ORDINALITY AS b (device_id, boot, last, software, open_doors, n)
        ), live AS MATERIALIZED (
            SELECT b.*, coalesce(j.seq, 0) AS seq FROM beat b
            CROSS JOIN LATERAL (SELECT FROM devices WHERE id = b.device_id AND revoked_at IS NULL LIMIT 1) AS d
            LEFT JOIN LATERAL (
                SELECT seq FROM journals WHERE device_id = b.device_id AND boot = b.boot LIMIT 1
            ) AS j ON true
        ), seen AS (
            UPDATE devices d SET last_seen_at = now(), online = true, software = left(l.software, 64),
                open_doors = string_to_array(l.open_doors, ' '),
                caught_up_at = CASE WHEN l.seq >= l.last THEN now() ELSE d.caught_up_at END
            FROM live l WHERE d.id = l.device_id
        )
        SELECT n, seq FROM live
        """,
        [beat.device_id for beat in beats],
        [beat.boot for beat in beats],
        [beat.last for beat in beats],
        [beat.software for beat in beats],
        [" ".join(beat.open_doors) for beat in beats],  # a code has no space
    )
    committed = {row["n"]: row["seq"] for row in rows}
    return [committed.get(n) for n in range(1, len(beats) + 1)]


async def note(connection: Connection, online: Mapping[str, bool]) -> None:
    """What the broker said of devices: there or gone."""
    await connection.execute(
        """
        UPDATE devices d SET online = n.online
        FROM unnest($1::text[], $2::boolean[]) AS n (device_id, online)
        CROSS JOIN LATERAL (SELECT revoked_at, online FROM devices WHERE id = n.device_id LIMIT 1) AS before
        WHERE d.id = n.device_id AND before.revoked_at IS NULL AND before.online <> n.online
        """,
        list(online),
        list(online.values()),
    )
