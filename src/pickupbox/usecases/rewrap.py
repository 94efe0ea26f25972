"""Rotate secrets: seal every PIN, webhook key, second factor, provider's secret and waiting mail again under the
current one."""

from dataclasses import replace

from pickupbox.database import endpoints, identity_providers, mails, pins, users
from pickupbox.usecases.core import Core
from pickupbox.usecases.single_sign_on import rewrapped
from pickupbox.vault import Sealed

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


async def rewrap_webhook_keys(core: Core) -> int:
    """Seal again the webhook keys that another secret sealed; how many endpoints that were. Can be repeated."""
    count = 0
    while True:
        async with core.db.transaction() as tx:
            batch = await endpoints.lock_sealed_otherwise(tx, core.vault.current.id, BATCH)
            for stored in batch:
                await endpoints.save_sealed(tx, _rewrapped_keys(core, stored))
        if not batch:
            return count
        count += len(batch)


def _rewrapped_keys(core: Core, stored: endpoints.StoredSecrets) -> endpoints.StoredSecrets:
    def again(sealed: Sealed) -> Sealed:
        key = core.vault.open_webhook_key(stored.tenant_id, stored.endpoint_id, sealed)
        return core.vault.seal_webhook_key(stored.tenant_id, stored.endpoint_id, key)

    return replace(stored, secret=again(stored.secret), before=again(stored.before) if stored.before else None)


async def rewrap_for_people(core: Core) -> int:
    """Seal again second factors, providers' secrets and waiting mail; how many that were. Can be repeated."""
    count = 0
    while done := await _second_factors(core) + await _providers(core) + await _mails(core):
        count += done
    return count


async def _second_factors(core: Core) -> int:
    async with core.db.transaction() as tx:
        batch = await users.lock_sealed_otherwise(tx, core.vault.current.id, BATCH)
        for user in batch:
            if user.factor is not None:
                clear = core.vault.open_for_people(user.tenant_id, user.id, user.factor)
                sealed = core.vault.seal_for_people(user.tenant_id, user.id, clear)
                await users.save_factor(
                    tx,
                    user.tenant_id,
                    user.id,
                    sealed,
                    confirmed=user.factor_since is not None,
                    step=user.factor_step,
                )
    return len(batch)


async def _providers(core: Core) -> int:
    async with core.db.transaction() as tx:
        batch = await identity_providers.lock_sealed_otherwise(tx, core.vault.current.id, BATCH)
        for provider in batch:
            await identity_providers.save(tx, provider.tenant_id, rewrapped(core, provider))
    return len(batch)


async def _mails(core: Core) -> int:
    async with core.db.transaction() as tx:
        batch = await mails.lock_sealed_otherwise(tx, core.vault.current.id, BATCH)
        for mail in batch:
            clear = core.vault.open_for_people(mail.tenant_id, mail.id, mail.text)
            await mails.save_sealed(tx, mail.id, core.vault.seal_for_people(mail.tenant_id, mail.id, clear))
    return len(batch)
