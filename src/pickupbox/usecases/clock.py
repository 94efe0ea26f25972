"""Act on deadlines."""

from pickupbox.database import shipments
from pickupbox.domain.deadlines import WHEN_DUE
from pickupbox.telemetry import DEADLINE_LAG, STEPS
from pickupbox.usecases.core import Core
from pickupbox.usecases.steps import prepare


async def sweep(core: Core, limit: int) -> int:
    """Take the step of every due shipment that nobody else is moving, in one commit; how many there were."""
    async with core.db.transaction() as tx:
        due = await shipments.lock_due(tx, limit)
        recordings = [prepare(core, locked, WHEN_DUE[locked.shipment.stage]) for locked in due]
        if recordings:
            await shipments.record(tx, recordings)
    if recordings:
        core.db.ring()
    for locked, recording in zip(due, recordings, strict=True):
        if locked.shipment.due_at is not None:
            DEADLINE_LAG.observe((locked.now - locked.shipment.due_at).total_seconds())
        STEPS.labels(recording.advance.trigger).inc()
    return len(recordings)


async def seconds_to_next_deadline(core: Core) -> float | None:
    async with core.db.connection() as connection:
        return await shipments.next_due_in(connection)
