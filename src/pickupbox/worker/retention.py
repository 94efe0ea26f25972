"""Erases customers' names after their retention, and forgets journals that cannot come back and visits that ended."""

from pickupbox.usecases.core import Core
from pickupbox.usecases.retention import erase_names, forget_journals, forget_visits

BATCH = 1000
REST = 60.0


async def run(core: Core) -> float:
    done = await erase_names(core, BATCH), await forget_journals(core, BATCH), await forget_visits(core, BATCH)
    return 0 if BATCH in done else REST
