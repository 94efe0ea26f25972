"""Erase customers' names after their retention."""

from pickupbox.database import retention
from pickupbox.telemetry import ERASED
from pickupbox.usecases.core import Core

NAME_DAYS = 30


async def erase_names(core: Core, limit: int) -> int:
    """Erase names of shipments released 30 days ago or more; how many were erased."""
    async with core.db.connection() as connection:
        erased = await retention.erase_names(connection, NAME_DAYS, limit)
    ERASED.inc(erased)
    return erased
