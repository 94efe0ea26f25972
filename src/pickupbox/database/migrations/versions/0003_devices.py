"""Devices: who speaks for a box, and the certificates by which the broker knows it."""

from alembic import op

revision = "0003"
down_revision = "0002"

DEVICES = """
-- A device waits for its code to be exchanged (code_hmac), then has a certificate; a revoked one stays as a row.
-- certificate_serial and certificate_until are those of the newest one.
CREATE TABLE devices (
    tenant_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" PRIMARY KEY,
    box_id text COLLATE "C" NOT NULL,
    code_hmac bytea,
    code_until timestamptz,
    code_failures integer NOT NULL DEFAULT 0 CHECK (code_failures >= 0),
    enrolled_at timestamptz,
    certificate_serial text COLLATE "C",
    certificate_until timestamptz,
    revoked_at timestamptz,
    last_seen_at timestamptz,
    software text CHECK (char_length(software) <= 160),
    created_at timestamptz NOT NULL DEFAULT now(),
    FOREIGN KEY (tenant_id, box_id) REFERENCES boxes (tenant_id, id),
    CHECK ((code_hmac IS NULL) = (code_until IS NULL)),
    CHECK ((enrolled_at IS NULL) = (certificate_serial IS NULL)),
    CHECK ((enrolled_at IS NULL) = (certificate_until IS NULL))
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX devices_live ON devices (box_id) WHERE revoked_at IS NULL;
CREATE INDEX devices_tenant ON devices (tenant_id, id);

-- Every certificate that still counts: after a renewal the one before works until it ends, and must be revoked too.
CREATE TABLE device_certificates (
    device_id text COLLATE "C" NOT NULL REFERENCES devices,
    serial text COLLATE "C" NOT NULL UNIQUE,
    until timestamptz NOT NULL,
    revoked_at timestamptz,
    PRIMARY KEY (device_id, serial)
);
CREATE INDEX device_certificates_revoked ON device_certificates (until) WHERE revoked_at IS NOT NULL;
"""


def upgrade() -> None:
    op.execute(DEVICES)
