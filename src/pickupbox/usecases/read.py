"""Read a shipment."""

from pickupbox.database import shipments
from pickupbox.domain.errors import ShipmentNotFound
from pickupbox.domain.shipment import Shipment
from pickupbox.usecases.core import Core
from pickupbox.vault import SealedPin


async def read(core: Core, tenant: str, shipment_id: str) -> Shipment:
    """The tenant's shipment as it stands now."""
    shipment, _ = await read_with_pin(core, tenant, shipment_id)
    return shipment


async def read_with_pin(core: Core, tenant: str, shipment_id: str) -> tuple[Shipment, SealedPin]:
    """The shipment with its PIN still sealed."""
    found = await core.db.together(shipments.read_many, (tenant, shipment_id))
    if found is None:
        raise ShipmentNotFound
    return found
