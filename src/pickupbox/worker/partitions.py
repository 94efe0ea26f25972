"""Keeps time partitions ready."""

from pickupbox.usecases.core import Core
from pickupbox.usecases.partitions import keep_partitions

REST = 600.0  # what somebody reads for long is not waited for, but tried again


async def run(core: Core) -> float:
    await keep_partitions(core)
    return REST
