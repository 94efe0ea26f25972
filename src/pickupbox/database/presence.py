"""Which boxes live, as their heartbeats say, written in batches; and what they said that could not be taken."""

from collections.abc import Sequence
from dataclasses import dataclass

from pickupbox.database.connection import Connection


@dataclass(frozen=True, slots=True)
class Beat:
    device_id: str
    boot: str
    software: str


@dataclass(frozen=True, slots=True)
class Unread:
    """A message that could not be taken; its payload holds no PIN."""

    topic: str
    payload: bytes
    reason: str


async def save(connection: Connection, beats: Sequence[Beat]) -> list[int | None]:
    """Note that the devices live; how far each one's journal is committed, None for a device that is not known."""
    rows = await connection.fetch(
        """
        WITH beat AS (
            SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS b (device_id, boot, software, n)
        ), live AS MATERIALIZED (
            SELECT b.* FROM beat b
            CROSS JOIN LATERAL (SELECT FROM devices WHERE id = b.device_id AND revoked_at IS NULL LIMIT 1) AS d
        ), seen AS (
            UPDATE devices d SET last_seen_at = now(), software = left(l.software, 64) FROM live l
            WHERE d.id = l.device_id
        )
        SELECT l.n, coalesce(j.seq, 0) AS seq FROM live l
        LEFT JOIN journals j ON j.device_id = l.device_id AND j.boot = l.boot
        """,
        [beat.device_id for beat in beats],
        [beat.boot for beat in beats],
        [beat.software for beat in beats],
    )
    committed = {row["n"]: row["seq"] for row in rows}
    return [committed.get(n) for n in range(1, len(beats) + 1)]


async def set_aside(connection: Connection, unread: Sequence[Unread]) -> None:
    await connection.execute(
        "INSERT INTO set_aside (topic, payload, reason) SELECT * FROM unnest($1::text[], $2::bytea[], $3::text[])",
        [_storable(one.topic, 200) for one in unread],
        [one.payload for one in unread],
        [_storable(one.reason, 500) for one in unread],
    )


def _storable(text: str, length: int) -> str:
    """As much of a text as is kept, without what PostgreSQL cannot hold."""
    return text[:length].replace("\0", "").encode(errors="replace").decode()
