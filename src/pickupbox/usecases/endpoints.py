"""Webhook endpoints: where a tenant wants to be told, and with which secret it is signed."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pickupbox.database import endpoints, failures, lanes
from pickupbox.domain.lifecycle import Event
from pickupbox.telemetry import DISABLED, log
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core
from pickupbox.webhooks.addresses import objection
from pickupbox.webhooks.bodies import example_of
from pickupbox.webhooks.egress import Answer, Egress
from pickupbox.webhooks.schedule import HOPELESS_DAYS
from pickupbox.webhooks.signing import key_of, new_secret, signed_headers

OVERLAP_HOURS = 24
WAITING_DAYS = 30  # that lanes of a disabled endpoint are kept
BATCH = 5000


class EndpointRefusedError(Exception):
    """The endpoint cannot be as it is asked for; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class IssuedEndpoint:
    """A new endpoint; the only time that its secret is seen."""

    id: str
    secret: str


async def add_endpoint(
    core: Core, caller: Caller, url: str, description: str, event_types: Sequence[Event] | None
) -> IssuedEndpoint:
    if (reason := objection(url, loopback=core.webhook_loopback)) is not None:
        raise EndpointRefusedError(reason)
    endpoint_id, secret = core.new_id("whe"), new_secret(os.urandom(32))
    sealed = core.vault.seal_webhook_key(caller.tenant, endpoint_id, key_of(secret))
    async with core.db.transaction() as tx:
        kept = await endpoints.insert(tx, caller.tenant, endpoint_id, url, description, _wanted(event_types), sealed)
        if not kept:
            raise EndpointRefusedError(
                f"There is no such tenant, or it has {endpoints.MOST} endpoints already: remove one first."
            )
        await note(core, tx, caller, "endpoint.add", endpoint_id)
    return IssuedEndpoint(endpoint_id, secret)


def _wanted(event_types: Sequence[Event] | None) -> list[Event] | None:
    return sorted(set(event_types)) if event_types else None


async def change_endpoint(
    core: Core, caller: Caller, endpoint_id: str, description: str, event_types: Sequence[Event] | None
) -> bool:
    """From now on, tell it only of these events; what waits still goes. False if there is no such endpoint."""
    async with core.db.transaction() as tx:
        changed = await endpoints.change(tx, caller.tenant, endpoint_id, description, _wanted(event_types))
        if changed:
            await note(core, tx, caller, "endpoint.change", endpoint_id)
    return changed


async def rotate_secret(core: Core, caller: Caller, endpoint_id: str) -> str | None:
    """A new secret; for 24 hours the one before signs too. None if there is no such endpoint."""
    secret = new_secret(os.urandom(32))
    sealed = core.vault.seal_webhook_key(caller.tenant, endpoint_id, key_of(secret))
    async with core.db.transaction() as tx:
        rotated = await endpoints.rotate(tx, caller.tenant, endpoint_id, sealed, OVERLAP_HOURS)
        if rotated:
            await note(core, tx, caller, "endpoint.rotate", endpoint_id)
    return secret if rotated else None


async def disable_endpoint(core: Core, caller: Caller, endpoint_id: str, because: str) -> bool:
    """Tell it nothing more; what waits stays for 30 days. False if there is no such enabled endpoint."""
    async with core.db.transaction() as tx:
        disabled = await endpoints.disable(tx, caller.tenant, endpoint_id, because)
        if disabled:
            await note(core, tx, caller, "endpoint.disable", endpoint_id)
    return disabled


async def enable_endpoint(core: Core, caller: Caller, endpoint_id: str) -> endpoints.Endpoint | None:
    """Go on with what waits, at once. The endpoint as it was before; None if there is none."""
    async with core.db.transaction() as tx:
        before = await endpoints.find(tx, caller.tenant, endpoint_id)
        if before is None:
            return None
        await endpoints.enable(tx, caller.tenant, endpoint_id)
        await failures.forget(tx, [endpoint_id])
        await note(core, tx, caller, "endpoint.enable", endpoint_id)
    async with core.db.connection() as connection:
        while await lanes.make_due(connection, caller.tenant, endpoint_id, BATCH) == BATCH:
            core.db.ring()
    core.db.ring()
    return before


async def remove_endpoint(core: Core, caller: Caller, endpoint_id: str) -> bool:
    async with core.db.transaction() as tx:
        removed = await endpoints.remove(tx, caller.tenant, endpoint_id)
        if removed:
            await note(core, tx, caller, "endpoint.remove", endpoint_id)
    return removed


async def try_endpoint(core: Core, caller: Caller, endpoint_id: str, event_type: Event) -> Answer | None:
    """Send a signed example of that type, once; None if there is no such endpoint."""
    async with core.db.transaction() as tx:
        endpoint = await endpoints.find(tx, caller.tenant, endpoint_id)
        if endpoint is None:
            return None
        sealed = await endpoints.read_secrets(tx, caller.tenant, endpoint_id)
        await note(core, tx, caller, f"endpoint.test: {event_type}", endpoint_id)
    event_id = core.new_id("evt")
    body = example_of(core.cell, event_id, event_type, datetime.now(UTC))
    keys = [core.vault.open_webhook_key(caller.tenant, endpoint_id, one) for one in sealed]
    egress = Egress(loopback=core.webhook_loopback)
    try:
        return await egress.post(endpoint.url, body, signed_headers(keys, event_id, int(time.time()), body))
    finally:
        await egress.close()


async def tend_endpoints(core: Core) -> int:
    """Disable what did nothing but fail for days, drop lanes that nobody will be told; how many lanes."""
    async with core.db.connection() as connection:
        for tenant, endpoint_id in await endpoints.list_hopeless(connection, HOPELESS_DAYS):
            because = f"it did nothing but fail for {HOPELESS_DAYS} days"
            if await endpoints.disable(connection, tenant, endpoint_id, because):
                DISABLED.labels("failing").inc()
                log.warning("webhook_endpoint_disabled", tenant=tenant, endpoint=endpoint_id, cause=because)
        return await lanes.drop(connection, WAITING_DAYS, BATCH)
