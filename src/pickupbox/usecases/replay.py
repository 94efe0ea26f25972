"""Replay: send an endpoint again what was told before."""

from collections.abc import Callable
from datetime import datetime, timedelta

from pickupbox.database import replays
from pickupbox.usecases.core import Core

BATCH = 1000
# Events are kept in the order of their transactions, and none takes this long.
LONGEST_TRANSACTION = timedelta(minutes=1)


async def replay_event(core: Core, tenant: str, endpoint_id: str, event_id: str) -> bool:
    """Send one event again, in its place on the shipment's lane; False if the tenant has no such event."""
    async with core.db.connection() as connection:
        found = await replays.put_back(connection, tenant, endpoint_id, event_id)
    core.db.ring()
    return found


async def replay_since(
    core: Core, tenant: str, endpoint_id: str, since: datetime, progress: Callable[[int, datetime], None]
) -> int:
    """Send again what occurred since then and the endpoint subscribes to; how many events.

    Newest first in the making, but every lane keeps its order. Can be repeated: what waits already waits once.
    """
    count, position = 0, replays.NEWEST
    while True:
        async with core.db.connection() as connection:
            page = await replays.put_page_back(connection, tenant, endpoint_id, since, position, BATCH)
        if page is None:
            return count
        core.db.ring()
        count, position = count + page.put_back, page.position
        progress(count, page.latest)
        if page.latest < since - LONGEST_TRANSACTION:
            return count
