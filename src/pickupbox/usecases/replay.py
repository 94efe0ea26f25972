"""Replay: send an endpoint again what was told before."""

from collections.abc import Callable
from datetime import datetime, timedelta

from pickupbox.database import endpoints, replays
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core

BATCH = 1000
# Events are kept in the order of their transactions, and none takes this long.
LONGEST_TRANSACTION = timedelta(minutes=1)


async def replay_event(core: Core, caller: Caller, endpoint_id: str, event_id: str) -> bool:
    """Send one event again, in its place on the shipment's lane; False if the tenant has no such event."""
    async with core.db.transaction() as tx:
        found = await replays.put_back(tx, caller.tenant, endpoint_id, event_id)
        if found:
            await note(core, tx, caller, f"replay.event: {event_id}", endpoint_id)
    core.db.ring()
    return found


async def replay_since(
    core: Core, caller: Caller, endpoint_id: str, since: datetime, progress: Callable[[int, datetime], None]
) -> int:
    """Send again what occurred since then and the endpoint subscribes to; how many events.

    Newest first in the making, but every lane keeps its order. Can be repeated: what waits already waits once.
    """
    count, position = 0, replays.NEWEST
    async with core.db.transaction() as tx:
        if await endpoints.find(tx, caller.tenant, endpoint_id) is None:
            return 0
        await note(core, tx, caller, f"replay.since: {since:%Y-%m-%dT%H:%M:%SZ}", endpoint_id)
    while True:
        async with core.db.connection() as connection:
            page = await replays.put_page_back(connection, caller.tenant, endpoint_id, since, position, BATCH)
        if page is None:
            return count
        core.db.ring()
        count, position = count + page.put_back, page.position
        progress(count, page.latest)
        if is_past(page.latest, since):
            return count


def is_past(latest: datetime, since: datetime) -> bool:
    """Whether everything from there on occurred before."""
    return latest < since - LONGEST_TRANSACTION
