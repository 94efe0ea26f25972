"""Figures by the hour, counted from the feed of events: each event exactly once, in the order of commits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pickupbox.database.connection import Connection


@dataclass(frozen=True, slots=True)
class Hour:
    """What happened in the hour that begins at `hour`, and how many compartments were in use when it ended."""

    hour: datetime
    reserved: int
    loaded: int
    picked_up: int
    expired: int
    cancelled: int
    fault: int
    freed: int
    in_use: int


async def add_places(connection: Connection) -> None:
    """A place in the feed for every tenant that has none yet."""
    await connection.execute(
        """
        INSERT INTO figure_places (tenant_id)
        SELECT t.id FROM tenants t
        WHERE t.id > '' AND NOT EXISTS (SELECT FROM figure_places p WHERE p.tenant_id = t.id)
        ON CONFLICT DO NOTHING
        """
    )


async def add_these(connection: Connection, tenants: Sequence[str]) -> None:
    await connection.execute(
        "INSERT INTO figure_places (tenant_id) SELECT unnest($1::text[]) ORDER BY 1 ON CONFLICT DO NOTHING",
        list(tenants),
    )


async def lock_due(connection: Connection, limit: int) -> list[str]:
    """Tenants whose feed is to be looked at, the longest due first, leaving out those that someone else counts."""
    rows = await connection.fetch(
        """
        SELECT tenant_id FROM figure_places WHERE look_at <= now() ORDER BY look_at LIMIT $1
        FOR NO KEY UPDATE SKIP LOCKED
        """,
        limit,
    )
    return [row["tenant_id"] for row in rows]


async def lock_these(connection: Connection, tenants: Sequence[str]) -> list[str]:
    """Those of them whose feed is ours to count now."""
    rows = await connection.fetch(
        """
        SELECT p.tenant_id FROM unnest($1::text[]) AS w (tenant_id) CROSS JOIN LATERAL (
            SELECT tenant_id FROM figure_places WHERE tenant_id = w.tenant_id FOR NO KEY UPDATE SKIP LOCKED
        ) AS p
        """,
        list(tenants),
    )
    return [row["tenant_id"] for row in rows]


# As the feed is read: from the place on, and only so far as nothing can appear any more. Events, figures and place are
# one statement in the transaction that holds the places, so no event is counted twice, and none is passed over.
# A tenant whose feed gave nothing is looked at less and less often.
COUNT = """
    WITH place AS MATERIALIZED (
        SELECT p.* FROM unnest($1::text[]) AS w (tenant_id)
        CROSS JOIN LATERAL (SELECT * FROM figure_places WHERE tenant_id = w.tenant_id LIMIT 1) AS p
    ), news AS MATERIALIZED (
        SELECT e.* FROM place p CROSS JOIN LATERAL (
            SELECT tenant_id, told_in, shipment_id, sequence, type, occurred_at FROM events
            WHERE tenant_id = p.tenant_id
              AND (told_in, shipment_id, sequence) > (p.told_in, p.shipment_id, p.sequence)
              AND told_in < pg_snapshot_xmin(pg_current_snapshot())
            ORDER BY told_in, shipment_id, sequence LIMIT $2
        ) AS e
    ), counted AS (
        INSERT INTO figures AS f (tenant_id, hour, reserved, loaded, picked_up, expired, cancelled, fault, freed)
        SELECT tenant_id, date_trunc('hour', occurred_at, 'UTC'), count(*) FILTER (WHERE type = 'reserved'),
            count(*) FILTER (WHERE type = 'loaded'), count(*) FILTER (WHERE type = 'picked_up'),
            count(*) FILTER (WHERE type = 'expired'), count(*) FILTER (WHERE type = 'cancelled'),
            count(*) FILTER (WHERE type = 'fault'), count(*) FILTER (WHERE type = 'door_available')
        FROM news GROUP BY 1, 2 ORDER BY 1, 2
        ON CONFLICT (tenant_id, hour) DO UPDATE SET reserved = f.reserved + EXCLUDED.reserved,
            loaded = f.loaded + EXCLUDED.loaded, picked_up = f.picked_up + EXCLUDED.picked_up,
            expired = f.expired + EXCLUDED.expired, cancelled = f.cancelled + EXCLUDED.cancelled,
            fault = f.fault + EXCLUDED.fault, freed = f.freed + EXCLUDED.freed
    ), read AS (
        SELECT tenant_id, count(*) AS events, count(*) FILTER (WHERE type = 'reserved')
            - count(*) FILTER (WHERE type = 'door_available') AS taken
        FROM news GROUP BY tenant_id
    ), last AS (
        SELECT DISTINCT ON (tenant_id) tenant_id, told_in, shipment_id, sequence FROM news
        ORDER BY tenant_id, told_in DESC, shipment_id DESC, sequence DESC
    ), moved AS (
        UPDATE figure_places f SET told_in = coalesce(l.told_in, f.told_in),
            shipment_id = coalesce(l.shipment_id, f.shipment_id), sequence = coalesce(l.sequence, f.sequence),
            in_use = f.in_use + coalesce(r.taken, 0),
            look_at = now() + make_interval(secs => n.pause), pause_seconds = n.pause
        FROM place p LEFT JOIN read r USING (tenant_id) LEFT JOIN last l USING (tenant_id)
        CROSS JOIN LATERAL (SELECT CASE WHEN r.events >= $2 THEN 0 WHEN r.events > 0 THEN $3::int
            ELSE least($4::int, greatest($3::int, p.pause_seconds * 2)) END AS pause) AS n
        WHERE f.tenant_id = p.tenant_id
    )
    SELECT count(*) FROM news
"""


async def count(
    connection: Connection, tenants: Sequence[str], limit: int, *, pause: int = 10, longest_pause: int = 600
) -> int:
    """Count at most `limit` further events of each of these tenants, whose places are locked; how many there were."""
    counted: int = await connection.fetchval(COUNT, list(tenants), limit, pause, longest_pause)
    return counted


async def read(connection: Connection, tenants: Sequence[str], since: datetime) -> dict[str, tuple[list[Hour], int]]:
    """Of each tenant the hours since then in which something happened, the first one first; and how many compartments
    are in use, as far as the feed is counted."""
    rows = await connection.fetch(
        """
        SELECT w.tenant_id, coalesce(p.in_use, 0)::int AS now, f.hour, reserved, loaded, picked_up, expired, cancelled,
            fault, freed, (p.in_use - coalesce(sum(reserved - freed) OVER (
                PARTITION BY w.tenant_id ORDER BY f.hour DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), 0))::int AS in_use
        FROM unnest($1::text[]) AS w (tenant_id)
        LEFT JOIN LATERAL (SELECT in_use FROM figure_places WHERE tenant_id = w.tenant_id LIMIT 1) AS p ON true
        LEFT JOIN LATERAL (SELECT * FROM figures WHERE tenant_id = w.tenant_id AND hour >= $2) AS f ON true
        ORDER BY w.tenant_id, f.hour
        """,
        list(tenants),
        since,
    )
    found: dict[str, tuple[list[Hour], int]] = {row["tenant_id"]: ([], row["now"]) for row in rows}
    for tenant, _, *hour in (row.values() for row in rows if row["hour"] is not None):
        found[tenant][0].append(Hour(*hour))
    return found
