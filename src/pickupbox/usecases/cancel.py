"""Cancel a shipment."""

from pickupbox.domain.errors import ShipmentNotCancellable
from pickupbox.domain.lifecycle import NotInTableError, Status, Trigger
from pickupbox.domain.shipment import Shipment
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.steps import lock, moving, prepare, record


async def cancel(core: Core, tenant: str, shipment_id: str, *, person: Caller | None = None) -> Shipment:
    """Cancel a reserved or loaded shipment; cancelling twice changes nothing. What a person does is noted."""
    async with moving(core) as tx:
        locked = await lock(tx, tenant, shipment_id)
        if locked.shipment.status is Status.CANCELLED:
            return locked.shipment
        try:
            recording = prepare(core, locked, Trigger.CANCEL)
        except NotInTableError:
            raise ShipmentNotCancellable from None
        if person is not None:
            await note(core, tx, person, "shipment.cancel", shipment_id)
        return await record(tx, recording)
