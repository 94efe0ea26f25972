"""Read a shipment, or all attempts of an order."""

from pickupbox.database import shipments
from pickupbox.domain.errors import ShipmentNotFound
from pickupbox.domain.shipment import Shipment
from pickupbox.usecases.core import Core
from pickupbox.vault import Sealed


async def read(core: Core, tenant: str, shipment_id: str) -> Shipment:
    """The tenant's shipment as it stands now."""
    shipment, _ = await read_with_pin(core, tenant, shipment_id)
    return shipment


async def find_by_order(core: Core, tenant: str, external_order_id: str) -> list[Shipment]:
    """The attempts of the tenant's order as they stand now, the first one first; none if it is not known."""
    async with core.db.connection() as connection:
        return await shipments.find_order(connection, tenant, external_order_id)


async def read_with_pin(core: Core, tenant: str, shipment_id: str) -> tuple[Shipment, Sealed]:
    """The shipment with its PIN still sealed."""
    found = await core.db.together(shipments.read_many, (tenant, shipment_id))
    if found is None:
        raise ShipmentNotFound
    return found
