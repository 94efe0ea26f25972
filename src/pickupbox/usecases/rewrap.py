"""Rotate secrets: seal every PIN again under the current one."""

from dataclasses import replace

from pickupbox.database import pins
from pickupbox.usecases.core import Core

BATCH = 500


async def rewrap(core: Core) -> int:
    """Seal again what another secret sealed, batch by batch; how many PINs that were. Can be repeated."""
    tenant = shipment_id = ""
    count = 0
    while True:
        async with core.db.transaction() as tx:
            batch = await pins.after(tx, tenant, shipment_id, but_not=core.vault.current.id, limit=BATCH)
            await pins.save(tx, [_rewrapped(core, stored) for stored in batch])
        if not batch:
            return count
        count += len(batch)
        tenant, shipment_id = batch[-1].tenant_id, batch[-1].shipment_id


def _rewrapped(core: Core, stored: pins.StoredPin) -> pins.StoredPin:
    pin = core.vault.open_pin(stored.tenant_id, stored.shipment_id, stored.pin)
    return replace(
        stored,
        pin=core.vault.seal_pin(stored.tenant_id, stored.shipment_id, pin),
        lookup=core.vault.pin_lookup(stored.box_id, pin),
    )
