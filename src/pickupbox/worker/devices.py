"""Counts which devices are there."""

from pickupbox.usecases.core import Core
from pickupbox.usecases.devices import count_devices

REST = 15.0


async def run(core: Core) -> float:
    await count_devices(core)
    return REST
