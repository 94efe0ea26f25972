"""How one step of the lifecycle changes a shipment."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pickupbox.domain.deadlines import due_at
from pickupbox.domain.lifecycle import Emission, Stage, Status, Trigger, is_released, step
from pickupbox.domain.shipment import BoxSettings, Shipment


@dataclass(frozen=True, slots=True)
class Advance:
    """A step that was taken: the shipment after it, and what it tells."""

    trigger: Trigger
    before: Stage
    shipment: Shipment
    emits: tuple[Emission, ...]


def advance(
    shipment: Shipment, trigger: Trigger, box: BoxSettings, now: datetime, *, simulated: bool = False
) -> Advance:
    """Take one step. A simulated step sets no cooldown deadline: the sandbox releases by its own event."""
    taken = step(shipment.stage, trigger)
    # The clock of a transaction that waited for the row may be behind the step it waited for.
    now = max(now, shipment.updated_at)
    after = replace(shipment, stage=taken.stage, updated_at=now)
    if after.loaded_at is None and after.status is Status.LOADED:
        after = replace(
            after,
            loaded_at=now,
            pickup_available_at=now + timedelta(seconds=box.protection_seconds),
            pickup_expires_at=now + timedelta(minutes=after.pickup_ttl_minutes),
        )
    if after.picked_up_at is None and after.status is Status.PICKED_UP:
        after = replace(after, picked_up_at=now)
    if after.released_at is None and is_released(after.stage):
        after = replace(after, released_at=now)
    return Advance(trigger, shipment.stage, replace(after, due_at=due_at(after, box, simulated=simulated)), taken.emits)
