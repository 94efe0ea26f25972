"""The worker process: all loops at once, until SIGTERM or SIGINT; a run under way is finished first."""

import asyncio
import signal
from functools import partial

from pickupbox.telemetry import log
from pickupbox.usecases.core import Core
from pickupbox.worker import audit_chain, deadlines, partitions, retention
from pickupbox.worker.loops import repeat

LOOPS = {
    "deadlines": deadlines.run,
    "audit_chain": audit_chain.run,
    "partitions": partitions.run,
    "retention": retention.run,
}


async def work(core: Core, stop: asyncio.Event) -> None:
    async with asyncio.TaskGroup() as loops:
        for name, run in LOOPS.items():
            loops.create_task(repeat(name, partial(run, core), stop))


async def serve(core: Core) -> None:
    stop = asyncio.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_number, stop.set)
    log.info("worker_started", environment=core.environment, cell=core.cell)
    await work(core, stop)
    await core.db.close()
    log.info("worker_stopped")
