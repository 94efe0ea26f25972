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

HEARD_BEFORE = timedelta(seconds=30)  # two heartbeats: so long a box may be silent and yet be there
WAIT_FOR_BOX = timedelta(hours=24)
ASK_AGAIN = timedelta(seconds=15)


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


def waits_for_box(shipment: Shipment, heard: datetime | None, now: datetime) -> bool:
    """Whether a parcel must not expire yet: its box was out of reach at the deadline, and may have handed it over.

    `heard` is when the box was last heard with nothing left to tell. A box that stays away is not waited for for ever.
    """
    if shipment.stage is not Stage.READY or shipment.pickup_expires_at is None:
        return False
    told_all = heard is not None and heard >= shipment.pickup_expires_at - HEARD_BEFORE
    return not told_all and now < shipment.pickup_expires_at + WAIT_FOR_BOX
