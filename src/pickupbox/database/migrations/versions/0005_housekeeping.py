"""Which boxes the broker says are there; an end for what was set aside and for journals that another one followed."""

from alembic import op

revision = "0005"
down_revision = "0004"

HOUSEKEEPING = """
-- What was last heard: a heartbeat, or the broker's word that the box is there or gone. Not the whole truth: the last
-- word may be lost. last_seen_at says how old the last sign of life is.
ALTER TABLE devices ADD COLUMN online boolean NOT NULL DEFAULT false;

-- At most one live device per box, as before, but over all rows: on an empty table the planner takes an index of the
-- live ones for as good as the key, reads all of it to find one device, and keeps that plan when the fleet has grown.
DROP INDEX devices_live;
CREATE UNIQUE INDEX devices_live ON devices (box_id, coalesce(revoked_at, 'infinity'));

-- Since when another journal of the same device is written instead; null while this one goes on.
ALTER TABLE journals ADD COLUMN superseded_at timestamptz;
CREATE INDEX journals_superseded ON journals (superseded_at) WHERE superseded_at IS NOT NULL;

-- The same table by days, which are dropped when they are old. What was set aside so far is only for people to look at,
-- and goes: in a partition without a date nothing could ever drop it.
DROP TABLE set_aside;
CREATE TABLE set_aside (
    at timestamptz NOT NULL DEFAULT now(),
    topic text NOT NULL,
    payload bytea NOT NULL,
    reason text NOT NULL
) PARTITION BY RANGE (at);
CREATE TABLE set_aside_default PARTITION OF set_aside DEFAULT;
CREATE INDEX set_aside_at ON set_aside (at);
"""


def upgrade() -> None:
    op.execute(HOUSEKEEPING)
