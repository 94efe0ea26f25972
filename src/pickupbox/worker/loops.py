"""How a loop runs: again and again until told to stop, whatever happens in one run."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.telemetry import LOOP_LAST, LOOP_RUNS, log

AFTER_AN_ERROR = 1.0


async def repeat(name: str, run: Callable[[], Awaitable[float]], stop: asyncio.Event) -> None:
    """Call `run` until `stop`; it returns how many seconds to rest. An error is logged and tried again."""
    while not stop.is_set():
        try:
            rest = await run()
        except TemporarilyUnavailable as error:
            rest = AFTER_AN_ERROR
            LOOP_RUNS.labels(name, "unavailable").inc()
            log.warning("loop_waits_for_database", loop=name, cause=repr(error.__cause__))
        except Exception as error:  # noqa: BLE001 - one bad run must not end the loop; it is logged and counted
            rest = AFTER_AN_ERROR
            LOOP_RUNS.labels(name, "error").inc()
            log.error("loop_failed", loop=name, exc_info=error)
        else:
            LOOP_RUNS.labels(name, "ok").inc()
            LOOP_LAST.labels(name).set(time.time())
        if rest > 0:
            await _rest(rest, stop)


async def _rest(seconds: float, stop: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return
