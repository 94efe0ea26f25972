"""Reveal a shipment's PIN again, audited."""

from pickupbox.domain.errors import PinNotAvailable
from pickupbox.domain.pins import can_be_revealed
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.read import read_with_pin


async def reveal_pin(core: Core, caller: Caller, shipment_id: str, *, reason: str | None = None) -> str:
    """The PIN of a reserved or loaded shipment; the audit entry is committed before it is told.

    A person says why; a shop's own server need not.
    """
    shipment, sealed = await read_with_pin(core, caller.tenant, shipment_id)
    if not can_be_revealed(shipment.stage):
        raise PinNotAvailable
    await note_reveal(core, caller, shipment_id, reason)
    return core.vault.open_pin(caller.tenant, shipment_id, sealed)


async def note_reveal(core: Core, caller: Caller, shipment_id: str, reason: str | None = None) -> None:
    async with core.db.connection() as connection:
        await note(core, connection, caller, f"pin.reveal: {reason}" if reason else "pin.reveal", shipment_id)
