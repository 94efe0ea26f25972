"""A street of virtual boxes, loaders and customers, played against a sandbox: for load tests, and to look at."""

import asyncio
import logging
import resource
import shutil
import signal
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pickupbox.fleet.figures import Figures as Figures
from pickupbox.fleet.seeding import FleetError as FleetError
from pickupbox.fleet.street import Street
from pickupbox.settings import Settings
from pickupbox.usecases.core import open_core

BOXES_MOST = 2_000
FILES_PER_BOX = 6  # the link's sockets, and the journal's files
FILES = 200
MEMORY = Path("/dev/shm")  # noqa: S108 - the folder made in it is ours alone
JOURNAL_BYTES = 6_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    boxes: int
    rate: float  # shipments that begin per second
    seconds: float
    faults: float  # the share of them in which something goes wrong
    base_url: str


async def run(settings: Settings, plan: Plan, watch: Callable[[Figures], Awaitable[None]]) -> Figures:
    """Play, until it is over or SIGTERM or Ctrl-C comes; `watch` shows the figures meanwhile, and is then cancelled."""
    _refuse_what_cannot_work(settings, plan)
    logging.getLogger("pickupbox.box").setLevel(logging.ERROR)  # that a cable is cut is no news here
    stop = asyncio.Event()
    for stopping in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(stopping, stop.set)
    figures = Figures(plan.boxes, plan.rate)
    core = open_core(settings)
    with TemporaryDirectory(prefix="pickupbox_fleet_", dir=_room(plan.boxes), ignore_cleanup_errors=True) as folder:
        street = Street(core, settings, Path(folder), figures)
        watching = asyncio.ensure_future(watch(figures))
        try:
            await _unless(stop, street.play(plan.base_url, plan.seconds, plan.faults))
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await street.close()
            await core.db.close()
    return figures


def _refuse_what_cannot_work(settings: Settings, plan: Plan) -> None:
    if settings.environment == "production":
        raise FleetError("This is production: a fleet plays in a sandbox only.")
    if not settings.mqtt_url.startswith("mqtt://"):
        raise FleetError("The fleet's boxes have no certificates: set PICKUPBOX_MQTT_URL to a listener without TLS.")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = plan.boxes * FILES_PER_BOX + FILES
    if most != resource.RLIM_INFINITY and most < needed:
        raise FleetError(f"{plan.boxes} boxes need {needed} open files, and this shell allows {most}: see ulimit -n.")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _room(boxes: int) -> Path | None:
    """Where the journals lie. In memory if they fit: a box has a disk of its own, hundreds would wait for this one."""
    fit = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > boxes * JOURNAL_BYTES
    return MEMORY if fit else None


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Do the work, or break it off when `stop` is set."""
    working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            await working
    finally:
        stopping.cancel()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
