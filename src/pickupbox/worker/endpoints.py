"""Disables endpoints that do nothing but fail, and drops what waits for those that are gone."""

from pickupbox.usecases.core import Core
from pickupbox.usecases.endpoints import BATCH, tend_endpoints

REST = 60.0


async def run(core: Core) -> float:
    return 0 if await tend_endpoints(core) == BATCH else REST
