"""Read on in the feed of events."""

from collections.abc import Sequence
from dataclasses import dataclass

from pickupbox.database import feed
from pickupbox.database.feed import Told
from pickupbox.domain.errors import EventNotFound
from pickupbox.usecases.core import Core


@dataclass(frozen=True, slots=True)
class Page:
    events: Sequence[Told]
    has_more: bool


async def read_feed(core: Core, tenant: str, after: str | None, limit: int) -> Page:
    """At most `limit` of the tenant's events that follow the one called `after`, or the oldest that are kept."""
    async with core.db.connection() as connection:
        told = await feed.read_after(connection, tenant, after, limit + 1)
    if told is None:
        raise EventNotFound
    return Page(told[:limit], has_more=len(told) > limit)
