"""Reserve a compartment for an order."""

import asyncio
from dataclasses import dataclass

from pickupbox.database import boxes, reservations, rosters, shipments
from pickupbox.domain.errors import (
    BoxNotFound,
    ExternalOrderConflict,
    NoCompartmentAvailable,
    TemporarilyUnavailable,
)
from pickupbox.domain.shipment import Shipment
from pickupbox.telemetry import RESERVATIONS
from pickupbox.usecases.core import Caller, Core, new_pin
from pickupbox.usecases.reveal_pin import note_reveal
from pickupbox.vault import Sealed

TRIES = 10
WORD_TRIES = 20
WORD_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be reserved. TTLs that are None are the box's."""

    box_id: str
    external_order_id: str
    customer_name: str | None = None
    reservation_ttl_minutes: int | None = None
    pickup_ttl_minutes: int | None = None
    attempt_number: int = 1
    retry_of_shipment_id: str | None = None


@dataclass(frozen=True, slots=True)
class Reserved:
    shipment: Shipment
    pin: str
    replayed: bool


async def reserve(core: Core, caller: Caller, wish: Wish) -> Reserved:
    """Reserve a compartment and make a PIN; the same order and box again returns the first shipment.

    Losing a race on a unique index is an expected answer: look what is there, then replay or try again.
    """
    for _ in range(TRIES):
        pin = new_pin()
        shipment = await core.db.together(reservations.insert_many, _asked(core, caller.tenant, wish, pin))
        if shipment is not None:
            core.db.ring()
            RESERVATIONS.labels("made").inc()
            return Reserved(shipment, pin, replayed=False)
        async with core.db.connection() as connection:
            # In this order: a twin of this request that is taking the last compartment is then seen.
            free = await reservations.wait_for_free(connection, caller.tenant, wish.box_id)
            first = await shipments.find_attempt(connection, caller.tenant, wish.external_order_id, wish.attempt_number)
            if first is None and not await boxes.is_active(connection, caller.tenant, wish.box_id):
                raise BoxNotFound
        if first is not None:
            return await _replay(core, caller, wish, *first)
        if not free and not await _wait_for_box(core, caller.tenant, wish.box_id):
            raise NoCompartmentAvailable
        RESERVATIONS.labels("tried_again").inc()
    raise TemporarilyUnavailable(retry_after=1)


async def _wait_for_box(core: Core, tenant: str, box_id: str) -> bool:
    """A compartment that was released a moment ago waits for its box's word; a box in reach says it at once."""
    for _ in range(WORD_TRIES):
        async with core.db.connection() as connection:
            # In this order: a word that comes between the two questions is seen by the second.
            withheld = await rosters.is_withheld(connection, tenant, box_id)
            if await reservations.wait_for_free(connection, tenant, box_id):
                return True
            if not withheld:
                return False
        await asyncio.sleep(WORD_SECONDS)
    return False


def _asked(core: Core, tenant: str, wish: Wish, pin: str) -> reservations.Asked:
    shipment_id = core.new_id("shp")
    return reservations.Asked(
        tenant_id=tenant,
        shipment_id=shipment_id,
        external_order_id=wish.external_order_id,
        attempt_number=wish.attempt_number,
        retry_of_shipment_id=wish.retry_of_shipment_id,
        box_id=wish.box_id,
        customer_name=wish.customer_name,
        reservation_ttl_minutes=wish.reservation_ttl_minutes,
        pickup_ttl_minutes=wish.pickup_ttl_minutes,
        pin=core.vault.seal_pin(tenant, shipment_id, pin),
        pin_lookup=core.vault.pin_lookup(wish.box_id, pin),
        pin_lookup_before=core.vault.pin_lookup_before(wish.box_id, pin),
    )


async def _replay(core: Core, caller: Caller, wish: Wish, first: Shipment, pin: Sealed) -> Reserved:
    if first.box_id != wish.box_id:
        raise ExternalOrderConflict(details={"existing_shipment_id": first.id})
    await note_reveal(core, caller, first.id)
    RESERVATIONS.labels("replayed").inc()
    return Reserved(first, core.vault.open_pin(caller.tenant, first.id, pin), replayed=True)
