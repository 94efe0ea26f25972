"""Replays since a time, as work for the workers: how far each has come, and whose turn it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pickupbox.database.connection import Connection
from pickupbox.database.replays import NEWEST, Page, Position


@dataclass(frozen=True, slots=True)
class ReplayJob:
    tenant_id: str
    id: str
    endpoint_id: str
    since: datetime
    actor: str
    created_at: datetime
    latest: datetime | None  # how far back it has come
    events: int
    finished_at: datetime | None
    stopped_by: str | None
    told_in: str
    shipment_id: str
    sequence: int

    @property
    def position(self) -> Position:
        return Position(self.told_in, self.shipment_id, self.sequence)

    @property
    def done(self) -> float:
        """How much of the time it has gone back through, from 0 to 1."""
        if self.finished_at is not None and self.stopped_by is None:
            return 1.0
        if self.latest is None:
            return 0.0
        whole = (self.created_at - self.since).total_seconds()
        return min(1.0, max(0.0, (self.created_at - self.latest).total_seconds() / whole)) if whole > 0 else 0.0


_COLUMNS = """tenant_id, id, endpoint_id, since, actor, created_at, latest, events, finished_at, stopped_by, told_in,
    shipment_id, sequence"""


async def insert(
    connection: Connection, tenant: str, job_id: str, endpoint_id: str, since: datetime, actor: str
) -> bool:
    """False if one is under way for that endpoint."""
    kept = await connection.fetchval(
        """
        INSERT INTO replay_jobs (tenant_id, id, endpoint_id, since, actor, told_in, shipment_id, sequence)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING true
        """,
        tenant,
        job_id,
        endpoint_id,
        since,
        actor,
        NEWEST.told_in,
        NEWEST.shipment_id,
        NEWEST.sequence,
    )
    return kept is not None


async def take_turn(connection: Connection) -> ReplayJob | None:
    """The job that waited longest, and that no other worker is at; to be held until the page is done."""
    row = await connection.fetchrow(
        f"""
        SELECT {_COLUMNS} FROM replay_jobs WHERE finished_at IS NULL
        ORDER BY worked_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
        """
    )
    return ReplayJob(*row.values()) if row else None


async def go_on(connection: Connection, job: ReplayJob, page: Page) -> None:
    await connection.execute(
        """
        UPDATE replay_jobs SET worked_at = now(), told_in = $2, shipment_id = $3, sequence = $4, latest = $5,
            events = events + $6 WHERE id = $1
        """,
        job.id,
        page.position.told_in,
        page.position.shipment_id,
        page.position.sequence,
        page.latest,
        page.put_back,
    )


async def finish(connection: Connection, job_id: str) -> None:
    await connection.execute("UPDATE replay_jobs SET finished_at = now() WHERE id = $1", job_id)


async def stop(connection: Connection, tenant: str, job_id: str, actor: str) -> bool:
    """False if the tenant has no such job under way."""
    stopped = await connection.fetchval(
        """
        UPDATE replay_jobs SET finished_at = now(), stopped_by = $3
        WHERE tenant_id = $1 AND id = $2 AND finished_at IS NULL RETURNING true
        """,
        tenant,
        job_id,
        actor,
    )
    return stopped is not None


async def newest_of(connection: Connection, tenant: str, endpoint_id: str) -> ReplayJob | None:
    row = await connection.fetchrow(
        f"""
        SELECT {_COLUMNS} FROM (SELECT * FROM replay_jobs WHERE endpoint_id = $2 ORDER BY id DESC LIMIT 1) newest
        WHERE tenant_id = $1
        """,
        tenant,
        endpoint_id,
    )
    return ReplayJob(*row.values()) if row else None


async def find_many(connection: Connection, wanted: Sequence[tuple[str, str]]) -> list[ReplayJob]:
    """The jobs of these tenants and ids."""
    rows = await connection.fetch(
        f"""
        SELECT {", ".join(f"j.{column.strip()}" for column in _COLUMNS.split(","))}
        FROM unnest($1::text[], $2::text[]) AS w (tenant_id, id)
        CROSS JOIN LATERAL (SELECT * FROM replay_jobs WHERE id = w.id LIMIT 1) AS j
        WHERE j.tenant_id = w.tenant_id
        """,
        [tenant for tenant, _ in wanted],
        [job_id for _, job_id in wanted],
    )
    return [ReplayJob(*row.values()) for row in rows]
