"""When each stage is due, and what happens then."""

from datetime import datetime, timedelta

from pickupbox.domain.lifecycle import Stage, Trigger
from pickupbox.domain.shipment import BoxSettings, Shipment

WHEN_DUE: dict[Stage, Trigger] = {
    Stage.RESERVED: Trigger.EXPIRE,
    Stage.LOADING: Trigger.FAULT,
    Stage.PROTECTED: Trigger.PROTECTION_ENDED,
    Stage.CORRECTING: Trigger.FAULT,
    Stage.READY: Trigger.EXPIRE,
    Stage.COLLECTING: Trigger.FAULT,
    Stage.COOLING: Trigger.RELEASE,
}


def due_at(shipment: Shipment, box: BoxSettings, *, simulated: bool) -> datetime | None:
    """When the stage that the shipment has just entered is due."""
    match shipment.stage:
        case Stage.RESERVED:
            return shipment.reservation_expires_at
        case Stage.LOADING | Stage.CORRECTING | Stage.COLLECTING:
            return shipment.updated_at + timedelta(seconds=box.door_open_seconds)
        case Stage.PROTECTED:
            return shipment.pickup_available_at
        case Stage.READY:
            return shipment.pickup_expires_at
        case Stage.COOLING:
            return None if simulated else shipment.updated_at + timedelta(seconds=box.cooldown_seconds)
        case _:
            return None
