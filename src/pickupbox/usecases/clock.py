"""Act on deadlines."""

from collections.abc import Sequence

from pickupbox.database import rosters, shipments
from pickupbox.database.connection import Connection
from pickupbox.database.shipments import Locked
from pickupbox.domain.deadlines import ASK_AGAIN, WHEN_DUE, waits_for_box
from pickupbox.domain.lifecycle import Stage
from pickupbox.telemetry import DEADLINE_LAG, STEPS
from pickupbox.usecases.core import Core
from pickupbox.usecases.steps import prepare


async def sweep(core: Core, limit: int) -> int:
    """Take the step of every due shipment that nobody else is moving, in one commit; how many were due."""
    async with core.db.transaction() as tx:
        found = await shipments.lock_due(tx, limit)
        due, waiting = await _sort(tx, found)
        recordings = [prepare(core, locked, WHEN_DUE[locked.shipment.stage]) for locked in due]
        if recordings:
            await shipments.record(tx, recordings)
        if waiting:
            await shipments.postpone(tx, [locked.shipment for locked in waiting], ASK_AGAIN)
    if recordings:
        core.db.ring()
    for locked, recording in zip(due, recordings, strict=True):
        if locked.shipment.due_at is not None:
            DEADLINE_LAG.observe((locked.now - locked.shipment.due_at).total_seconds())
        STEPS.labels(recording.advance.trigger).inc()
    return len(found)


async def _sort(tx: Connection, found: Sequence[Locked]) -> tuple[list[Locked], list[Locked]]:
    """Those whose step is to be taken now, and those of which only their box knows whether it is."""
    ready = [locked.shipment.box_id for locked in found if locked.shipment.stage is Stage.READY]
    heard = await rosters.last_heard(tx, ready) if ready else {}
    waiting = [
        locked
        for locked in found
        if locked.shipment.box_id in heard and waits_for_box(locked.shipment, heard[locked.shipment.box_id], locked.now)
    ]
    return [locked for locked in found if locked not in waiting], waiting


async def seconds_to_next_deadline(core: Core) -> float | None:
    async with core.db.connection() as connection:
        return await shipments.next_due_in(connection)
