"""What a fleet stands on: a tenant of its own in the sandbox, its boxes, a device for each, and a key."""

import asyncio
from dataclasses import dataclass, replace

from pickupbox.database import boxes, tenants
from pickupbox.usecases.boxes import add_box, codes, default_setup
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.devices import AuthorityMissingError, device_for
from pickupbox.usecases.tenants import IssuedKey, add_tenant, issue_key

TENANT = "Fleet"
KEY_NAME = "fleet"
RATE = 100_000
COMPARTMENTS = 12
PROTECTION_SECONDS = COOLDOWN_SECONDS = 2
AT_ONCE = 5


class FleetError(Exception):
    """The fleet cannot play; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """A box in the database, and the device that speaks for it."""

    box_id: str
    device: str
    compartments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ground:
    tenant: str
    key: IssuedKey
    places: tuple[Place, ...]


async def prepare(core: Core, count: int) -> Ground:
    """Make what is missing. Boxes of an earlier fleet are used again, if nothing is left in them."""
    tenant, key = await _tenant(core)
    free = (await _empty_boxes(core, tenant))[:count]
    busy = asyncio.Semaphore(AT_ONCE)

    async def place(number: int) -> Place:
        async with busy:
            box_id = free[number] if number < len(free) else await _add(core, tenant, number + 1)
            return Place(box_id, await _device(core, tenant, box_id), tuple(codes(COMPARTMENTS)))

    try:
        async with asyncio.TaskGroup() as tasks:
            making = [tasks.create_task(place(number)) for number in range(count)]
    except ExceptionGroup as errors:
        first = errors.exceptions[0]
        raise first from first.__cause__
    return Ground(tenant, key, tuple(made.result() for made in making))


async def _tenant(core: Core) -> tuple[str, IssuedKey]:
    async with core.db.connection() as connection:
        known = {tenant.name: tenant.id for tenant in await tenants.list_all(connection)}
    tenant = known.get(TENANT) or await add_tenant(core, TENANT)
    async with core.db.connection() as connection:
        await tenants.set_rate(connection, tenant, RATE, RATE)
        for key in await tenants.list_keys(connection, tenant):
            if key.name == KEY_NAME and key.revoked_at is None:
                await tenants.revoke_key(connection, tenant, key.id)
    issued = await issue_key(core, Caller(tenant, KEY_NAME), KEY_NAME)
    if issued is None:
        raise FleetError("Other fleets are starting on this sandbox: only one can play at a time.")
    return tenant, issued


async def _empty_boxes(core: Core, tenant: str) -> list[str]:
    """Those in which nothing is left. The others are offered no more: nobody knows what a fleet left there."""
    empty = []
    async with core.db.connection() as connection:
        for box in await boxes.list_overview(connection, tenant):
            if box.active and box.free == box.compartments == COMPARTMENTS:
                empty.append(box.id)
            elif box.active:
                await boxes.set_active(connection, tenant, box.id, active=False)
    return empty


async def _add(core: Core, tenant: str, number: int) -> str:
    setup = replace(
        default_setup(core, f"Street {number}"),
        protection_seconds=PROTECTION_SECONDS,
        cooldown_seconds=COOLDOWN_SECONDS,
    )
    box_id = await add_box(core, tenant, setup, COMPARTMENTS)
    if box_id is None:
        raise FleetError("The fleet's tenant is gone.")
    return box_id


async def _device(core: Core, tenant: str, box_id: str) -> str:
    try:
        device = await device_for(core, Caller(tenant, KEY_NAME), box_id)
    except AuthorityMissingError as error:
        raise FleetError(str(error)) from None
    if device is None:
        raise FleetError("Other fleets are starting on this sandbox: only one can play at a time.")
    return device
