"""What is done for single boxes: of each box one at a time and in order, among the boxes in turns."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from pickupbox.devices.fairness import has_room
from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.telemetry import log

ERRANDS = 10_000

type Errand = Callable[[], Awaitable[object]]


class Errands:
    def __init__(self, tasks: set[asyncio.Task[None]], *, of_one: int, at_once: int) -> None:
        self._tasks = tasks
        self._of_one = of_one
        self._turn = asyncio.Semaphore(at_once)
        self._lines: dict[str, deque[Errand]] = {}  # of the boxes for which something is under way: what waits behind
        self._count = 0

    def put(self, device: str, errand: Errand) -> bool:
        """Whether there was room for it; no box waits for an answer forever, it asks again."""
        line = self._lines.get(device)
        if not has_room(len(line) if line else 0, self._of_one, self._count, ERRANDS):
            return False
        self._count += 1
        if line is None:
            self._lines[device] = line = deque()
            start(self._tasks, self._run(device, line))
        line.append(errand)
        return True

    async def _run(self, device: str, line: deque[Errand]) -> None:
        while line:
            async with self._turn:  # whoever has more stands behind those who wait
                self._count -= 1
                await guarded(line.popleft()())
        del self._lines[device]


async def guarded(work: Awaitable[object]) -> None:
    try:
        await work
    except TemporarilyUnavailable as error:
        log.warning("gateway_waits", cause=repr(error.__cause__ or error))
    except Exception as error:  # noqa: BLE001 - one message must not end the gateway; it is logged
        log.error("device_message_failed", exc_info=error)


def start(tasks: set[asyncio.Task[None]], work: Awaitable[None]) -> None:
    """Begin it now; it is among the tasks until it is done."""
    task = asyncio.ensure_future(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
