"""Tenants, boxes, compartments, shipments, events, API keys, audit."""

from alembic import op

revision = "0001"
down_revision = None

DEPLOYMENT = """
-- One row: what this database is. A process of another environment or cell refuses to work on it.
CREATE TABLE deployment (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    environment text NOT NULL CHECK (environment IN ('sandbox', 'production')),
    cell text COLLATE "C" NOT NULL CHECK (cell ~ '^[a-z][a-z0-9]{0,7}$'),
    demo_settings json CHECK (demo_settings IS NULL OR environment = 'sandbox')
);
"""

TENANTS = """
CREATE TABLE tenants (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL CHECK (name <> ''),
    rate_per_second integer NOT NULL DEFAULT 50 CHECK (rate_per_second BETWEEN 1 AND 1000000),
    rate_burst integer NOT NULL DEFAULT 100 CHECK (rate_burst >= 1),
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Two keys of one name may live at a time, one per slot: the old and the new one of a rotation.
CREATE TABLE api_keys (
    tenant_id text COLLATE "C" NOT NULL REFERENCES tenants,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL CHECK (name <> ''),
    slot smallint NOT NULL CHECK (slot IN (1, 2)),
    shown text NOT NULL,
    secret_id text NOT NULL,
    hmac bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz,
    last_used_at timestamptz,
    PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX api_keys_live ON api_keys (tenant_id, name, slot) WHERE revoked_at IS NULL;
"""

BOXES = """
CREATE TABLE boxes (
    tenant_id text COLLATE "C" NOT NULL REFERENCES tenants,
    id text COLLATE "C" NOT NULL UNIQUE,
    name text NOT NULL CHECK (name <> ''),
    location_name text,
    address text,
    active boolean NOT NULL DEFAULT true,
    reservation_ttl_minutes integer NOT NULL CHECK (reservation_ttl_minutes BETWEEN 15 AND 10080),
    pickup_ttl_minutes integer NOT NULL CHECK (pickup_ttl_minutes BETWEEN 60 AND 43200),
    protection_seconds integer NOT NULL CHECK (protection_seconds BETWEEN 0 AND 1800),
    cooldown_seconds integer NOT NULL CHECK (cooldown_seconds BETWEEN 0 AND 86400),
    door_open_seconds integer NOT NULL CHECK (door_open_seconds BETWEEN 10 AND 3600),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, id)
);

-- shipment_id is the shipment that holds the compartment now. Reserving changes it, so that whoever waited
-- for the row's lock sees that it is gone.
CREATE TABLE compartments (
    tenant_id text COLLATE "C" NOT NULL,
    box_id text COLLATE "C" NOT NULL,
    code text COLLATE "C" NOT NULL CHECK (code <> ''),
    position integer NOT NULL,
    in_service boolean NOT NULL DEFAULT true,
    shipment_id text COLLATE "C",
    PRIMARY KEY (tenant_id, box_id, code),
    FOREIGN KEY (tenant_id, box_id) REFERENCES boxes (tenant_id, id)
) WITH (fillfactor = 70);
CREATE INDEX compartments_free ON compartments (tenant_id, box_id, position)
    WHERE shipment_id IS NULL AND in_service;
"""

SHIPMENTS = """
-- A shipment is live until released_at is set: so long it holds its compartment and its PIN.
-- trail is every trigger it went through, in order; replayed through the lifecycle it gives stage and events.
-- No two indexes begin with the same column: a plan made while the table is empty cannot take the wrong one.
CREATE TABLE shipments (
    tenant_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    external_order_id text COLLATE "C" NOT NULL CHECK (char_length(external_order_id) BETWEEN 1 AND 160),
    attempt_number integer NOT NULL CHECK (attempt_number >= 1),
    retry_of_shipment_id text COLLATE "C",
    box_id text COLLATE "C" NOT NULL,
    compartment_code text COLLATE "C" NOT NULL,
    customer_name text CHECK (char_length(customer_name) <= 160),
    reservation_ttl_minutes integer NOT NULL CHECK (reservation_ttl_minutes BETWEEN 15 AND 10080),
    pickup_ttl_minutes integer NOT NULL CHECK (pickup_ttl_minutes BETWEEN 60 AND 43200),
    stage text COLLATE "C" NOT NULL,
    trail text[] COLLATE "C" NOT NULL,
    event_count integer NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    reservation_expires_at timestamptz NOT NULL,
    loaded_at timestamptz,
    pickup_available_at timestamptz,
    pickup_expires_at timestamptz,
    picked_up_at timestamptz,
    released_at timestamptz,
    due_at timestamptz,
    pin_secret_id text COLLATE "C" NOT NULL,
    pin_sealed bytea NOT NULL,
    pin_lookup bytea NOT NULL,
    PRIMARY KEY (id, tenant_id),
    CONSTRAINT shipments_order UNIQUE (external_order_id, tenant_id, attempt_number),
    FOREIGN KEY (tenant_id, box_id, compartment_code) REFERENCES compartments (tenant_id, box_id, code),
    FOREIGN KEY (tenant_id, retry_of_shipment_id) REFERENCES shipments (tenant_id, id),
    CONSTRAINT shipments_first_or_retry CHECK ((attempt_number = 1) = (retry_of_shipment_id IS NULL)),
    CONSTRAINT shipments_released CHECK (
        (released_at IS NOT NULL) = (stage IN ('collected', 'cancelled', 'expired', 'fault'))
        AND (released_at IS NOT NULL OR stage IN ('reserved', 'loading', 'protected', 'correcting', 'ready',
             'collecting', 'cooling', 'cancelled_held', 'expired_held', 'fault_held'))
    ),
    CONSTRAINT shipments_due CHECK (
        CASE WHEN stage IN ('reserved', 'loading', 'protected', 'correcting', 'ready', 'collecting')
             THEN due_at IS NOT NULL ELSE stage = 'cooling' OR due_at IS NULL END
    ),
    CONSTRAINT shipments_loaded CHECK (
        (loaded_at IS NULL) = (pickup_available_at IS NULL) AND (loaded_at IS NULL) = (pickup_expires_at IS NULL)
        AND (loaded_at IS NOT NULL OR stage NOT IN ('protected', 'correcting', 'ready', 'collecting'))
    ),
    CONSTRAINT shipments_picked_up CHECK (
        (picked_up_at IS NOT NULL) = (stage IN ('cooling', 'collected'))
    )
) WITH (fillfactor = 80);
ALTER TABLE compartments ADD FOREIGN KEY (tenant_id, shipment_id) REFERENCES shipments (tenant_id, id);
CREATE UNIQUE INDEX shipments_live_compartment ON shipments (box_id, compartment_code) WHERE released_at IS NULL;
CREATE UNIQUE INDEX shipments_live_pin ON shipments (box_id, pin_lookup) WHERE released_at IS NULL;
CREATE UNIQUE INDEX shipments_one_retry ON shipments (retry_of_shipment_id, tenant_id)
    WHERE retry_of_shipment_id IS NOT NULL;
CREATE INDEX shipments_due_at ON shipments (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX shipments_named ON shipments (released_at) WHERE released_at IS NOT NULL AND customer_name IS NOT NULL;

-- Partitioned by the shipment's birth: all events of a shipment lie together, are unique, and go together.
CREATE TABLE events (
    shipment_created_at timestamptz NOT NULL,
    tenant_id text COLLATE "C" NOT NULL,
    shipment_id text COLLATE "C" NOT NULL,
    sequence integer NOT NULL CHECK (sequence >= 1),
    step integer NOT NULL CHECK (step >= 1),
    id text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    occurred_at timestamptz NOT NULL,
    data json NOT NULL,
    PRIMARY KEY (shipment_id, tenant_id, sequence, shipment_created_at),
    FOREIGN KEY (tenant_id, shipment_id) REFERENCES shipments (tenant_id, id)
) PARTITION BY RANGE (shipment_created_at);
CREATE TABLE events_default PARTITION OF events DEFAULT;
"""

AUDIT = """
CREATE TABLE audit (
    at timestamptz NOT NULL DEFAULT now(),
    tenant_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    object text NOT NULL,
    request_id text,
    address text,
    chain_number bigint,
    chain_hash bytea,
    PRIMARY KEY (at, tenant_id, id),
    CHECK ((chain_number IS NULL) = (chain_hash IS NULL))
) PARTITION BY RANGE (at);
CREATE TABLE audit_default PARTITION OF audit DEFAULT;
CREATE INDEX audit_unsealed ON audit (id) WHERE chain_hash IS NULL;
CREATE INDEX audit_chain ON audit (tenant_id, chain_number) WHERE chain_hash IS NOT NULL;

-- The last link of each tenant's chain, so that sealing never searches history.
CREATE TABLE audit_heads (
    tenant_id text COLLATE "C" PRIMARY KEY,
    chain_number bigint NOT NULL,
    chain_hash bytea NOT NULL
);

-- An entry is written once and sealed once. Old ones go by dropping their partition.
CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.chain_hash IS NULL AND NEW.chain_hash IS NOT NULL
       AND (OLD.at, OLD.tenant_id, OLD.id, OLD.actor, OLD.action, OLD.object, OLD.request_id, OLD.address)
           IS NOT DISTINCT FROM
           (NEW.at, NEW.tenant_id, NEW.id, NEW.actor, NEW.action, NEW.object, NEW.request_id, NEW.address)
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'audit entries are append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit
    FOR EACH ROW EXECUTE FUNCTION audit_is_append_only();
CREATE TRIGGER audit_never_emptied BEFORE TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_append_only();
"""


def upgrade() -> None:
    for part in (DEPLOYMENT, TENANTS, BOXES, SHIPMENTS, AUDIT):
        op.execute(part)
