"""PINs as they rest: reading them for a change of secret, and writing them back under the new one."""

from collections.abc import Sequence
from dataclasses import dataclass

from pickupbox.database.connection import Connection
from pickupbox.vault import Sealed


@dataclass(frozen=True, slots=True)
class StoredPin:
    tenant_id: str
    shipment_id: str
    box_id: str
    pin: Sealed
    lookup: bytes


async def after(connection: Connection, shipment_id: str, tenant: str, limit: int) -> list[StoredPin]:
    """The PINs of the next shipments, in the order of the primary key."""
    rows = await connection.fetch(
        """
        SELECT tenant_id, id, box_id, pin_secret_id, pin_sealed, pin_lookup FROM shipments
        WHERE (id, tenant_id) > ($1, $2) ORDER BY id, tenant_id LIMIT $3 FOR NO KEY UPDATE
        """,
        shipment_id,
        tenant,
        limit,
    )
    return [
        StoredPin(tenant_id, shipment, box_id, Sealed(secret_id, sealed), lookup)
        for tenant_id, shipment, box_id, secret_id, sealed, lookup in (row.values() for row in rows)
    ]


async def save(connection: Connection, pins: Sequence[StoredPin]) -> None:
    await connection.execute(
        """
        UPDATE shipments s SET pin_secret_id = p.secret_id, pin_sealed = p.sealed, pin_lookup = p.lookup
        FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::bytea[])
            AS p (tenant_id, id, secret_id, sealed, lookup)
        WHERE s.tenant_id = p.tenant_id AND s.id = p.id
        """,
        [pin.tenant_id for pin in pins],
        [pin.shipment_id for pin in pins],
        [pin.pin.secret_id for pin in pins],
        [pin.pin.sealed for pin in pins],
        [pin.lookup for pin in pins],
    )
