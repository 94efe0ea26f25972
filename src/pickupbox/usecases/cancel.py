"""Cancel a shipment."""

from pickupbox.domain.errors import ShipmentNotCancellable
from pickupbox.domain.lifecycle import NotInTableError, Status, Trigger
from pickupbox.domain.shipment import Shipment
from pickupbox.usecases.core import Core
from pickupbox.usecases.steps import lock, moving, prepare, record


async def cancel(core: Core, tenant: str, shipment_id: str) -> Shipment:
    """Cancel a reserved or loaded shipment; cancelling twice changes nothing."""
    async with moving(core) as tx:
        locked = await lock(tx, tenant, shipment_id)
        if locked.shipment.status is Status.CANCELLED:
            return locked.shipment
        try:
            recording = prepare(core, locked, Trigger.CANCEL)
        except NotInTableError:
            raise ShipmentNotCancellable from None
        return await record(tx, recording)
