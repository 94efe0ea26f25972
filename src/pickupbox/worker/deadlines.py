"""Acts on deadlines: sleeps until the next one, sweeps in batches."""

from pickupbox.usecases.clock import seconds_to_next_deadline, sweep
from pickupbox.usecases.core import Core

BATCH = 500
# A deadline set while we sleep may come sooner than the one we sleep for.
LONGEST_SLEEP = 0.5


async def run(core: Core) -> float:
    swept = await sweep(core, BATCH)
    if swept == BATCH:
        return 0
    seconds = await seconds_to_next_deadline(core)
    # What is overdue and was not swept just now is in another worker's hands.
    return LONGEST_SLEEP if seconds is None else min(LONGEST_SLEEP, max(0.05, seconds))
