"""The worker process: all loops at once, until SIGTERM or SIGINT; a run under way is finished first."""

import asyncio
import signal
from functools import partial

from pickupbox.settings import Settings
from pickupbox.telemetry import log
from pickupbox.usecases.core import Core, open_core
from pickupbox.worker import (
    audit_chain,
    deadlines,
    devices,
    endpoints,
    figures,
    mail,
    partitions,
    replays,
    retention,
    webhooks,
)
from pickupbox.worker.loops import repeat

LOOPS = {
    "deadlines": deadlines.run,
    "audit_chain": audit_chain.run,
    "partitions": partitions.run,
    "retention": retention.run,
    "endpoints": endpoints.run,
    "replays": replays.run,
    "devices": devices.run,
    "figures": figures.run,
}


async def work(core: Core, settings: Settings, stop: asyncio.Event) -> None:
    async with asyncio.TaskGroup() as loops:
        loops.create_task(webhooks.run(core, settings, stop))
        loops.create_task(repeat("mail", partial(mail.run, core, settings, stop), stop))
        for name, run in LOOPS.items():
            loops.create_task(repeat(name, partial(run, core), stop))


async def serve(settings: Settings) -> None:
    core = open_core(settings)
    stop = asyncio.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_number, stop.set)
    log.info("worker_started", environment=core.environment, cell=core.cell)
    await work(core, settings, stop)
    await core.db.close()
    log.info("worker_stopped")
