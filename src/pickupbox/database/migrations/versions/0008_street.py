"""What boxes reported, kept as history; when the first word of an emergency release was given; indexes of the lists."""

from alembic import op

revision = "0008"
down_revision = "0007"

REPORTS = """
-- Every entry of a box's journal that was taken, written in the same commit: for people to look at, by days, and
-- dropped after 30. `at` is when it was taken, occurred_at what the box's own clock said. The journal takes each entry
-- once; the key says so again as far as partitions allow, and is the way to the newest reports of a box.
CREATE TABLE door_reports (
    at timestamptz NOT NULL DEFAULT now(),
    tenant_id text COLLATE "C" NOT NULL,
    box_id text COLLATE "C" NOT NULL,
    device_id text COLLATE "C" NOT NULL,
    boot text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    occurred_at timestamptz NOT NULL,
    happening text COLLATE "C" NOT NULL,
    code text COLLATE "C",
    command_id text COLLATE "C",
    purpose text COLLATE "C",
    shipment_id text COLLATE "C",
    reason text,
    PRIMARY KEY (tenant_id, box_id, at, device_id, boot, seq)
) PARTITION BY RANGE (at);
CREATE TABLE door_reports_default PARTITION OF door_reports DEFAULT;
CREATE INDEX door_reports_shipment ON door_reports (shipment_id) WHERE shipment_id IS NOT NULL;
"""

REMOVALS = """
-- The first person's word counts for some minutes; one without a time counts no more.
ALTER TABLE removals ADD COLUMN emergency_at timestamptz;
"""

LISTS = """
CREATE INDEX boxes_by_name ON boxes (tenant_id, name, id);
"""

# On tables that may be large and are written all the time. The list of shipments merges one walk per stage, newest
# first; beginning with the stage, the index tempts no statement that looks for one shipment, on an empty table either.
SHIPMENT_LISTS = {
    "shipments_listed": "shipments (stage, tenant_id, id)",
    # What awaits removal, the longest first, and doors that wait for a person: few of many, so these hold only them.
    "shipments_held": "shipments (tenant_id, updated_at, id) WHERE stage IN ('cancelled_held', 'expired_held', "
    "'fault_held')",
    "compartments_out_of_service": "compartments (tenant_id, box_id) WHERE NOT in_service",
    "door_commands_shipment": "door_commands (shipment_id)",
    "doors_open": "doors (tenant_id, changed_at) WHERE is_open",
    "devices_offline": "devices (tenant_id, id) WHERE revoked_at IS NULL AND NOT online",
}


def upgrade() -> None:
    # First, and from the beginning if it was interrupted: nothing else of this migration is committed yet.
    with op.get_context().autocommit_block():
        for name, place in SHIPMENT_LISTS.items():
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            op.execute(f"CREATE INDEX CONCURRENTLY {name} ON {place}")
    for part in (REPORTS, REMOVALS, LISTS):
        op.execute(part)
