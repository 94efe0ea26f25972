"""The sandbox's simulated events: advance a virtual shipment as the street would."""

from enum import StrEnum

from pickupbox.domain.errors import InvalidSandboxTransition
from pickupbox.domain.lifecycle import NotInTableError, Trigger
from pickupbox.domain.shipment import Shipment
from pickupbox.usecases.core import Core
from pickupbox.usecases.steps import lock, moving, prepare, record


class SandboxEvent(StrEnum):
    LOADED = "loaded"
    PICKED_UP = "picked_up"
    DOOR_AVAILABLE = "door_available"
    EXPIRED = "expired"
    FAULT = "fault"
    REMOVED = "removed"


TRIGGERS = {
    SandboxEvent.LOADED: Trigger.LOAD,
    SandboxEvent.PICKED_UP: Trigger.PICK_UP,
    SandboxEvent.DOOR_AVAILABLE: Trigger.RELEASE,
    SandboxEvent.EXPIRED: Trigger.EXPIRE,
    SandboxEvent.FAULT: Trigger.FAULT,
    SandboxEvent.REMOVED: Trigger.REMOVE,
}


async def simulate(core: Core, tenant: str, shipment_id: str, event: SandboxEvent) -> Shipment:
    """Take the step that the event stands for; an event that does not fit changes nothing."""
    async with moving(core) as tx:
        locked = await lock(tx, tenant, shipment_id)
        try:
            recording = prepare(core, locked, TRIGGERS[event], simulated=True)
        except NotInTableError:
            raise InvalidSandboxTransition from None
        return await record(tx, recording)
