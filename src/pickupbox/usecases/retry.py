"""Retry a faulted shipment with a new attempt."""

from pickupbox.domain.errors import (
    BoxNotFound,
    CompartmentNotReleased,
    NoCompartmentAvailable,
    ShipmentNotFaulted,
)
from pickupbox.domain.lifecycle import Status, is_released
from pickupbox.domain.shipment import Shipment
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.read import read
from pickupbox.usecases.reserve import Reserved, Wish, reserve


async def retry_by_hand(core: Core, person: Caller, shipment_id: str) -> Reserved:
    """As retry, noted before it is done: a reservation is one statement with those of others."""
    _refuse_unless_retryable(await read(core, person.tenant, shipment_id))
    async with core.db.connection() as connection:
        await note(core, connection, person, "shipment.retry", shipment_id)
    return await retry(core, person, shipment_id)


async def retry(core: Core, caller: Caller, shipment_id: str) -> Reserved:
    """Reserve again for a faulted and released shipment; retrying twice returns the same new attempt.

    Fault and release are final, so the original needs no lock.
    """
    original = await read(core, caller.tenant, shipment_id)
    _refuse_unless_retryable(original)
    wish = Wish(
        box_id=original.box_id,
        external_order_id=original.external_order_id,
        customer_name=original.customer_name,
        reservation_ttl_minutes=original.reservation_ttl_minutes,
        pickup_ttl_minutes=original.pickup_ttl_minutes,
        attempt_number=original.attempt_number + 1,
        retry_of_shipment_id=original.id,
    )
    try:
        return await reserve(core, caller, wish)
    except BoxNotFound:
        raise NoCompartmentAvailable from None


def _refuse_unless_retryable(original: Shipment) -> None:
    if original.status is not Status.FAULT:
        raise ShipmentNotFaulted
    if not is_released(original.stage):
        raise CompartmentNotReleased
