"""What boxes may do by themselves while the service is out of reach."""

from alembic import op

revision = "0006"
down_revision = "0005"

ROSTERS = """
-- The newest roster of each box that opens by itself: for which live shipments it may. Only gateways write it.
CREATE TABLE rosters (
    tenant_id text COLLATE "C" NOT NULL,
    box_id text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    confirmed bigint NOT NULL DEFAULT 0,
    FOREIGN KEY (tenant_id, box_id) REFERENCES boxes (tenant_id, id)
) WITH (fillfactor = 70);

-- Boxes whose live shipments changed since their roster was made: a row for each change, so that no two wait for each
-- other. Written in the commit of the change, taken by whichever gateway comes first.
CREATE TABLE roster_changes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id text COLLATE "C" NOT NULL,
    box_id text COLLATE "C" NOT NULL
);
CREATE INDEX roster_changes_box ON roster_changes (box_id);

-- A compartment whose shipment's PIN has ended is not given to the next one before its box has confirmed a roster
-- without that PIN (withheld_by, once that roster is made), or before the box's lease is over (withheld_until).
ALTER TABLE compartments ADD COLUMN withheld_until timestamptz, ADD COLUMN withheld_by bigint;

-- When the box was last heard with nothing left in its journal that we do not have.
ALTER TABLE devices ADD COLUMN caught_up_at timestamptz;
"""


def upgrade() -> None:
    op.execute(ROSTERS)
