"""Lists of shipments, newest first, page by page. Identifiers carry their time, so they are order and cursor in one.

Nothing is counted. A list is the merge of one walk per stage, each by the index that begins with the stage and no
longer than a page. There is no index by box: a list of one box looks through a bounded number of shipments and says
how far it came.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from pickupbox.database.connection import Connection
from pickupbox.database.shipments import COLUMNS, shipment_of
from pickupbox.domain.lifecycle import Stage
from pickupbox.domain.shipment import Shipment

BEHIND_ALL = "~"  # sorts behind every identifier
LOOKED_THROUGH = 2000


@dataclass(frozen=True, slots=True)
class Listed:
    shipment: Shipment
    box_name: str


@dataclass(frozen=True, slots=True)
class Page:
    """`after` is the cursor of the next page, None at the end; `back_to` is how far a list of one box came."""

    shipments: list[Listed]
    after: str | None
    back_to: datetime | None = None


# One walk per stage, each no longer than the list: whichever stages hold the newest, no more is read and sorted.
_WALKS = """
    SELECT one.id FROM unnest($3::text[]) AS w (stage) CROSS JOIN LATERAL (
        SELECT id FROM shipments WHERE stage = w.stage AND tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $4
    ) AS one ORDER BY one.id DESC LIMIT $4
"""
_LISTED = f"""
    SELECT {COLUMNS}, b.name AS box_name FROM page p
    CROSS JOIN LATERAL (SELECT * FROM shipments WHERE id = p.id AND tenant_id = $1 LIMIT 1) AS s
    CROSS JOIN LATERAL (SELECT name FROM boxes WHERE tenant_id = s.tenant_id AND id = s.box_id LIMIT 1) AS b
    ORDER BY s.id DESC
"""
_OF_BOX = f"""
    WITH walked AS MATERIALIZED ({_WALKS}), looked AS MATERIALIZED (
        SELECT s.* FROM walked w CROSS JOIN LATERAL (
            SELECT id, box_id, created_at FROM shipments WHERE id = w.id AND tenant_id = $1 LIMIT 1
        ) AS s
    ), page AS MATERIALIZED (
        SELECT id FROM looked WHERE box_id = $5 ORDER BY id DESC LIMIT $6
    )
    SELECT found.*, far.* FROM (
        SELECT count(*) AS looked, min(id) AS looked_to, min(created_at) AS back_to FROM looked
    ) AS far LEFT JOIN LATERAL ({_LISTED}) AS found ON true ORDER BY found.id DESC
"""


async def list_page(
    connection: Connection, tenant: str, stages: Collection[Stage], before: str | None, limit: int
) -> Page:
    """At most `limit` shipments at these stages that are older than `before`."""
    rows = await connection.fetch(
        f"WITH page AS MATERIALIZED ({_WALKS}) {_LISTED}", tenant, before or BEHIND_ALL, sorted(stages), limit + 1
    )
    listed = [Listed(shipment_of(row), row["box_name"]) for row in rows]
    return Page(listed[:limit], listed[limit - 1].shipment.id if len(listed) > limit else None)


async def list_page_of_box(
    connection: Connection, tenant: str, box_id: str, stages: Collection[Stage], before: str | None, limit: int
) -> Page:
    """As list_page, of one box: what is found among the next 2,000 shipments; the next page looks on from there."""
    rows = await connection.fetch(
        _OF_BOX, tenant, before or BEHIND_ALL, sorted(stages), LOOKED_THROUGH, box_id, limit + 1
    )
    listed = [Listed(shipment_of(row), row["box_name"]) for row in rows if row["id"] is not None]
    if len(listed) > limit:
        return Page(listed[:limit], listed[limit - 1].shipment.id)
    all_seen = rows[0]["looked"] < LOOKED_THROUGH
    return Page(listed, None if all_seen else rows[0]["looked_to"], None if all_seen else rows[0]["back_to"])


async def box_name(connection: Connection, tenant: str, box_id: str) -> str | None:
    name: str | None = await connection.fetchval(
        "SELECT name FROM boxes WHERE tenant_id = $1 AND id = $2", tenant, box_id
    )
    return name


async def retry_of(connection: Connection, tenant: str, shipment_id: str) -> str | None:
    """The attempt that followed this one."""
    followed: str | None = await connection.fetchval(
        "SELECT id FROM shipments WHERE retry_of_shipment_id = $2 AND tenant_id = $1", tenant, shipment_id
    )
    return followed
