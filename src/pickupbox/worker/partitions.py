"""Keeps time partitions ready."""

from pickupbox.usecases.core import Core
from pickupbox.usecases.partitions import keep_partitions

REST = 3600.0


async def run(core: Core) -> float:
    await keep_partitions(core)
    return REST
