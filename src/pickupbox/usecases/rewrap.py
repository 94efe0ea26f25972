"""Rotate secrets: seal every PIN again under the current one."""

from dataclasses import replace

from pickupbox.database import pins
from pickupbox.usecases.core import Core

BATCH = 500


async def rewrap(core: Core) -> int:
    """Seal again what another secret sealed, batch by batch; how many PINs that were. Can be repeated."""
    shipment_id = tenant = ""
    count = 0
    while True:
        async with core.db.transaction() as tx:
            batch = await pins.after(tx, shipment_id, tenant, BATCH)
            old = [stored for stored in batch if stored.pin.secret_id != core.vault.current.id]
            await pins.save(tx, [_rewrapped(core, stored) for stored in old])
        if not batch:
            return count
        count += len(old)
        shipment_id, tenant = batch[-1].shipment_id, batch[-1].tenant_id


def _rewrapped(core: Core, stored: pins.StoredPin) -> pins.StoredPin:
    pin = core.vault.open_pin(stored.tenant_id, stored.shipment_id, stored.pin)
    return replace(
        stored,
        pin=core.vault.seal_pin(stored.tenant_id, stored.shipment_id, pin),
        lookup=core.vault.pin_lookup(stored.box_id, pin),
    )
