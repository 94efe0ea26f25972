"""Webhook endpoints, lanes, failures and attempts; events know who subscribed to them."""

from alembic import op

revision = "0002"
down_revision = "0001"

EVENTS = """
-- The transaction that told the event, never lower than that of the shipment's event before it. Below the oldest
-- transaction that still runs nothing can appear any more: so far the feed may be read.
ALTER TABLE shipments ADD COLUMN told_in xid8 NOT NULL DEFAULT pg_current_xact_id();
ALTER TABLE events ADD COLUMN told_in xid8 NOT NULL DEFAULT pg_current_xact_id();
-- The endpoints that subscribed when it was told; null if none did.
ALTER TABLE events ADD COLUMN endpoints text[] COLLATE "C";
CREATE INDEX events_feed ON events (tenant_id, told_in, shipment_id, sequence);
CREATE INDEX events_id ON events (id);
"""

ENDPOINTS = """
-- A tenant has at most five, one per slot. event_types is null for all. During a rotation the secret before signs too.
-- A removed one stays as a row, for the attempts that name it.
CREATE TABLE webhook_endpoints (
    tenant_id text COLLATE "C" NOT NULL REFERENCES tenants,
    id text COLLATE "C" PRIMARY KEY,
    slot smallint NOT NULL CHECK (slot BETWEEN 1 AND 5),
    url text NOT NULL CHECK (char_length(url) BETWEEN 1 AND 2048),
    description text NOT NULL CHECK (char_length(description) <= 160),
    event_types text[] COLLATE "C" CHECK (cardinality(event_types) > 0),
    secret_id text COLLATE "C" NOT NULL,
    secret_sealed bytea NOT NULL,
    before_id text COLLATE "C",
    before_sealed bytea,
    before_until timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    enabled boolean NOT NULL DEFAULT true,
    disabled_at timestamptz,
    disabled_because text,
    removed_at timestamptz,
    CHECK ((before_id IS NULL) = (before_sealed IS NULL) AND (before_id IS NULL) = (before_until IS NULL)),
    CHECK (enabled = (disabled_at IS NULL) AND enabled = (disabled_because IS NULL))
);
CREATE UNIQUE INDEX webhook_endpoints_live ON webhook_endpoints (tenant_id, slot) WHERE removed_at IS NULL;

-- One row while an endpoint does nothing but fail: all of its lanes wait until resume_at, then one is tried.
CREATE TABLE webhook_failures (
    endpoint_id text COLLATE "C" PRIMARY KEY,
    failures integer NOT NULL,
    failing_since timestamptz NOT NULL DEFAULT now(),
    resume_at timestamptz
);
"""

LANES = """
-- A lane is what one endpoint still has to be told of one shipment: sequences of events, in order. Only the first is
-- under way. due_at is when it may be tried; whoever tries it moves due_at to the end of a lease, and that very time
-- is the proof that the lane is still in its hands. A lane that is told all is gone.
-- No foreign key to the endpoint: it would lock a row that all creates of a tenant share.
CREATE TABLE webhook_lanes (
    tenant_id text COLLATE "C" NOT NULL,
    endpoint_id text COLLATE "C" NOT NULL,
    shipment_id text COLLATE "C" NOT NULL,
    shipment_created_at timestamptz NOT NULL,
    waiting integer[] NOT NULL CHECK (cardinality(waiting) > 0),
    attempts integer NOT NULL DEFAULT 0,
    due_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (shipment_id, endpoint_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX webhook_lanes_due ON webhook_lanes (endpoint_id, due_at);

CREATE TABLE webhook_attempts (
    at timestamptz NOT NULL DEFAULT now(),
    tenant_id text COLLATE "C" NOT NULL,
    endpoint_id text COLLATE "C" NOT NULL,
    shipment_id text COLLATE "C" NOT NULL,
    sequence integer NOT NULL,
    event_id text COLLATE "C" NOT NULL,
    event_type text COLLATE "C" NOT NULL,
    number integer NOT NULL CHECK (number >= 1),
    outcome text COLLATE "C" NOT NULL CHECK (outcome IN ('accepted', 'failed', 'given_up')),
    status integer,
    error text COLLATE "C",
    milliseconds integer NOT NULL,
    answer text NOT NULL
) PARTITION BY RANGE (at);
CREATE TABLE webhook_attempts_default PARTITION OF webhook_attempts DEFAULT;
CREATE INDEX webhook_attempts_endpoint ON webhook_attempts (endpoint_id, at);
CREATE INDEX webhook_attempts_shipment ON webhook_attempts (shipment_id);
"""


def upgrade() -> None:
    for part in (EVENTS, ENDPOINTS, LANES):
        op.execute(part)
