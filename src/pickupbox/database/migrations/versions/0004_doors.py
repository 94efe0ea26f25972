"""Journals of boxes, door commands, keypads, doors, and what could not be read."""

from alembic import op

revision = "0004"
down_revision = "0003"

DOORS = """
-- How far each journal of a device is committed. A box that lost its storage begins a new one.
CREATE TABLE journals (
    device_id text COLLATE "C" NOT NULL,
    boot text COLLATE "C" NOT NULL,
    seq bigint NOT NULL CHECK (seq >= 0),
    PRIMARY KEY (device_id, boot)
) WITH (fillfactor = 70);

-- What the sensors last said. Apart from the compartments, so that reserving one waits for no report.
CREATE TABLE doors (
    tenant_id text COLLATE "C" NOT NULL,
    box_id text COLLATE "C" NOT NULL,
    code text COLLATE "C" NOT NULL,
    is_open boolean NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (box_id, code)
) WITH (fillfactor = 70);

-- Commands to open a door: written in the commit that decides on them, sent afterwards, worthless after expires_at.
-- And, in a sandbox, what a simulated event does to virtual doors.
CREATE TABLE door_commands (
    tenant_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" PRIMARY KEY,
    device_id text COLLATE "C" NOT NULL,
    box_id text COLLATE "C" NOT NULL,
    compartment_code text COLLATE "C" NOT NULL,
    purpose text COLLATE "C" NOT NULL CHECK (purpose IN ('load', 'correct', 'pick_up', 'remove', 'fill', 'empty')),
    shipment_id text COLLATE "C" NOT NULL,
    about text COLLATE "C",
    actor text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    sent_at timestamptz,
    outcome text COLLATE "C" CHECK (outcome IN ('unlocked', 'opened', 'failed', 'refused')),
    outcome_reason text
);
CREATE INDEX door_commands_unsent ON door_commands (expires_at) WHERE sent_at IS NULL;

CREATE TABLE keypads (
    tenant_id text COLLATE "C" NOT NULL,
    box_id text COLLATE "C" PRIMARY KEY,
    day date NOT NULL,
    day_failures integer NOT NULL,
    failures integer NOT NULL,
    closings integer NOT NULL,
    closed_until timestamptz
);

-- Taking out what lies in a compartment that awaits removal. The door must have gone from closed to open to closed
-- since the operator's command; whatever opens it again voids that. Or two people vouch for it.
CREATE TABLE removals (
    tenant_id text COLLATE "C" NOT NULL,
    shipment_id text COLLATE "C" PRIMARY KEY,
    command_id text COLLATE "C",
    cycle text COLLATE "C" NOT NULL DEFAULT 'none' CHECK (cycle IN ('none', 'open', 'closed')),
    emergency_by text,
    emergency_reason text,
    CHECK ((emergency_by IS NULL) = (emergency_reason IS NULL))
);

-- Messages that could not be taken, with the reason; never a PIN.
CREATE TABLE set_aside (
    at timestamptz NOT NULL DEFAULT now(),
    topic text NOT NULL,
    payload bytea NOT NULL,
    reason text NOT NULL
);
CREATE INDEX set_aside_at ON set_aside (at);
"""


def upgrade() -> None:
    op.execute(DOORS)
