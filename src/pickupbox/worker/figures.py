"""Counts what happened by the hour, for the overviews."""

from pickupbox.usecases.core import Core
from pickupbox.usecases.figures import add_tenants, count_figures

REST = 10.0


async def run(core: Core) -> float:
    if await count_figures(core):
        return 0
    await add_tenants(core)
    return REST
