"""Works off replays since a time, page by page."""

from pickupbox.usecases.core import Core
from pickupbox.usecases.replay_jobs import work_on_replays

REST = 1.0


async def run(core: Core) -> float:
    return 0 if await work_on_replays(core) else REST
