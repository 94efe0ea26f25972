"""Figures by the hour, requests of the API, indexes of the logs."""

from alembic import op
from sqlalchemy import text

revision = "0009"
down_revision = "0008"

FIGURES = """
-- What happened in each hour, by UTC, counted from the feed of events. `freed` counts door_available: what is in use at
-- the end of an hour is what is in use now, less what was reserved since, plus what was freed since.
CREATE TABLE figures (
    tenant_id text COLLATE "C" NOT NULL,
    hour timestamptz NOT NULL,
    reserved integer NOT NULL,
    loaded integer NOT NULL,
    picked_up integer NOT NULL,
    expired integer NOT NULL,
    cancelled integer NOT NULL,
    fault integer NOT NULL,
    freed integer NOT NULL,
    PRIMARY KEY (tenant_id, hour)
) PARTITION BY RANGE (hour);
CREATE TABLE figures_default PARTITION OF figures DEFAULT;

-- How far each tenant's feed is counted, and when to look again; moved in the commit that counts.
CREATE TABLE figure_places (
    tenant_id text COLLATE "C" PRIMARY KEY,
    told_in xid8 NOT NULL DEFAULT '0',
    shipment_id text COLLATE "C" NOT NULL DEFAULT '',
    sequence integer NOT NULL DEFAULT 0,
    in_use bigint NOT NULL DEFAULT 0,
    look_at timestamptz NOT NULL DEFAULT now(),
    pause_seconds integer NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
CREATE INDEX figure_places_look_at ON figure_places (look_at);
"""

REQUESTS = """
-- What shops asked of the API, for people to look at: by days, and dropped after 7. Never a body, never a query string.
-- A request id may be the caller's own, and need not be unique.
CREATE TABLE api_requests (
    at timestamptz NOT NULL,
    tenant_id text COLLATE "C" NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    request_id text COLLATE "C" NOT NULL,
    operation text COLLATE "C" NOT NULL,
    method text COLLATE "C" NOT NULL,
    path text NOT NULL,
    status integer NOT NULL,
    code text COLLATE "C",
    milliseconds real NOT NULL,
    address text
) PARTITION BY RANGE (at);
CREATE TABLE api_requests_default PARTITION OF api_requests DEFAULT;
CREATE INDEX api_requests_tenant ON api_requests (tenant_id, at, request_id);
-- Tenant and request id as one text, so that on an empty table no other index is taken for as good.
CREATE INDEX api_requests_id ON api_requests ((tenant_id || ' ' || request_id), at);
"""

LOGS = """
-- When a key that was rotated ends by itself; null: when someone revokes it.
ALTER TABLE api_keys ADD COLUMN revoke_at timestamptz;

-- Replays since a time, worked off by the workers page by page: told_in, shipment_id and sequence are the place that
-- was reached, latest when the events there occurred. Whoever works on one moves worked_at: all have their turn.
CREATE TABLE replay_jobs (
    tenant_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" PRIMARY KEY,
    endpoint_id text COLLATE "C" NOT NULL,
    since timestamptz NOT NULL,
    actor text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    worked_at timestamptz NOT NULL DEFAULT now(),
    told_in text NOT NULL,
    shipment_id text COLLATE "C" NOT NULL,
    sequence integer NOT NULL,
    latest timestamptz,
    events bigint NOT NULL DEFAULT 0,
    finished_at timestamptz,
    stopped_by text
);
CREATE INDEX replay_jobs_open ON replay_jobs (worked_at) WHERE finished_at IS NULL;
CREATE UNIQUE INDEX replay_jobs_one ON replay_jobs (endpoint_id) WHERE finished_at IS NULL;
CREATE INDEX replay_jobs_endpoint ON replay_jobs (endpoint_id, id);
"""

# Lists of the audit trail, newest first. An id carries its time, so the order is that of the entries.
AUDIT_LISTS = {"audit_listed": "(tenant_id, id)", "audit_object": "(object, tenant_id, id)"}


def upgrade() -> None:
    # First, and from the beginning if it was interrupted: nothing else of this migration is committed yet.
    with op.get_context().autocommit_block():
        for name, columns in AUDIT_LISTS.items():
            _index_partitions("audit", name, columns)
    for part in (FIGURES, REQUESTS, LOGS):
        op.execute(part)


def _index_partitions(table: str, name: str, columns: str) -> None:
    """An index on a partitioned table that is written all the time: CONCURRENTLY on each partition, then as one."""
    op.execute(f"DROP INDEX IF EXISTS {name}")
    op.execute(f"CREATE INDEX {name} ON ONLY {table} {columns}")
    inherited = text("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = CAST(:table AS regclass)")
    for partition in op.get_bind().execute(inherited, {"table": table}).scalars().all():
        part = f"{partition}_{name.removeprefix(f'{table}_')}"
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {part}")
        op.execute(f"CREATE INDEX CONCURRENTLY {part} ON {partition} {columns}")
        op.execute(f"ALTER INDEX {name} ATTACH PARTITION {part}")
