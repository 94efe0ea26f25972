"""Take one step with one shipment: lock, let the lifecycle decide, record. Every entrance ends up here."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pickupbox.database import shipments
from pickupbox.database.connection import Connection
from pickupbox.database.shipments import Locked, Recording
from pickupbox.domain.advance import advance
from pickupbox.domain.errors import ShipmentNotFound
from pickupbox.domain.lifecycle import Trigger
from pickupbox.domain.shipment import Shipment
from pickupbox.telemetry import STEPS
from pickupbox.usecases.core import Core


@asynccontextmanager
async def moving(core: Core) -> AsyncIterator[Connection]:
    """A transaction that moves shipments; after its commit those who deliver are woken."""
    async with core.db.transaction() as tx:
        yield tx
    core.db.ring()


async def lock(connection: Connection, tenant: str, shipment_id: str) -> Locked:
    locked = await shipments.lock(connection, tenant, shipment_id)
    if locked is None:
        raise ShipmentNotFound
    return locked


def prepare(core: Core, locked: Locked, trigger: Trigger, *, simulated: bool = False) -> Recording:
    """Let the lifecycle decide; raises NotInTableError if it has no such step."""
    taken = advance(locked.shipment, trigger, locked.box, locked.now, simulated=simulated)
    return Recording(taken, [core.new_id("evt") for _ in taken.emits])


async def record(connection: Connection, recording: Recording) -> Shipment:
    await shipments.record(connection, [recording])
    STEPS.labels(recording.advance.trigger).inc()
    return recording.advance.shipment
