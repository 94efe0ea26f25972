"""Declare a fault: an operator's word that something is wrong with a shipment."""

from pickupbox.domain.fault import ShipmentNotFaultable
from pickupbox.domain.lifecycle import NotInTableError, Trigger
from pickupbox.domain.shipment import Shipment
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.steps import lock, moving, prepare, record


async def declare_fault(core: Core, operator: Caller, shipment_id: str, reason: str) -> Shipment:
    """A reserved or loaded shipment is faulted; its compartment is held until a person has emptied it."""
    async with moving(core) as tx:
        locked = await lock(tx, operator.tenant, shipment_id)
        try:
            recording = prepare(core, locked, Trigger.FAULT)
        except NotInTableError:
            raise ShipmentNotFaultable from None
        await note(core, tx, operator, f"shipment.fault: {reason}", shipment_id)
        return await record(tx, recording)
