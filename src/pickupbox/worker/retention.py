"""Erases customers' names after their retention."""

from pickupbox.usecases.core import Core
from pickupbox.usecases.retention import erase_names

BATCH = 1000
REST = 60.0


async def run(core: Core) -> float:
    return 0 if await erase_names(core, BATCH) == BATCH else REST
