"""What happened by the hour: counted from the feed, read for the overview."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from pickupbox.database import figures
from pickupbox.database.figures import Hour
from pickupbox.usecases.core import Core

TENANTS = 50
EVENTS = 1000
CATCH_UP = 5000


async def count_figures(core: Core) -> bool:
    """Count what is new in the feeds of some tenants that are due; whether there may be more at once."""
    async with core.db.transaction() as tx:
        tenants = await figures.lock_due(tx, TENANTS)
        counted = await figures.count(tx, tenants, EVENTS) if tenants else 0
    return len(tenants) == TENANTS or counted >= EVENTS


async def add_tenants(core: Core) -> None:
    async with core.db.connection() as connection:
        await figures.add_places(connection)


async def catch_up(core: Core, tenants: Sequence[str]) -> None:
    """Count what is new for somebody who is looking now, unless a worker is at it."""
    async with core.db.transaction() as tx:
        await figures.add_these(tx, tenants)
        if mine := await figures.lock_these(tx, tenants):
            await figures.count(tx, mine, CATCH_UP)


async def read_figures(core: Core, tenants: Sequence[str], hours: int, now: datetime) -> dict[str, list[Hour]]:
    """Of each tenant the last so many hours, by UTC, the current one last; also those in which nothing happened."""
    last = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    first = last - timedelta(hours=hours - 1)
    async with core.db.connection() as connection:
        known = await figures.read(connection, tenants, first)
    return {tenant: fill(found, first, hours, in_use) for tenant, (found, in_use) in known.items()}


def fill(known: Sequence[Hour], first: datetime, hours: int, in_use: int) -> list[Hour]:
    """Every hour from the first on. What was in use stays so while nothing happens."""
    by_hour = {one.hour: one for one in known}
    if known:
        in_use = known[0].in_use - known[0].reserved + known[0].freed
    filled = []
    for number in range(hours):
        hour = first + timedelta(hours=number)
        nothing = Hour(hour, 0, 0, 0, 0, 0, 0, 0, in_use)
        filled.append(replace(by_hour.get(hour, nothing), hour=hour))
        in_use = filled[-1].in_use
    return filled
