"""Journal entries that wait for their commit: of each box in order, among the boxes in turns."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import islice

from pickupbox.devices.fairness import has_room
from pickupbox.devices.messages import Journaled

BATCH = 200
ENTRIES = 20_000
ENTRIES_OF_ONE = 100  # a box sends 50 ahead, and perhaps all of them again


class Waiting:
    def __init__(self) -> None:
        self._count = 0
        self._entries: dict[str, deque[Journaled]] = {}
        self._busy: dict[str, deque[Journaled]] = {}  # what came after the one that is being taken
        self._arrived = asyncio.Event()

    def put(self, device: str, entry: Journaled) -> bool:
        """Whether there was room for it. What is not taken is not acknowledged, so the box sends it again."""
        line = self._busy.get(device)
        if line is None:
            line = self._entries.get(device)
        if not has_room(len(line) if line else 0, ENTRIES_OF_ONE, self._count, ENTRIES):
            return False
        self._count += 1
        if line is None:
            self._entries[device] = line = deque()
            self._arrived.set()
        line.append(entry)
        return True

    @asynccontextmanager
    async def batch(self) -> AsyncIterator[list[tuple[str, Journaled]]]:
        """One entry of each box that has some. Until it is left, no other batch has entries of these boxes."""
        while not self._entries:
            self._arrived.clear()
            await self._arrived.wait()
        devices = list(islice(self._entries, BATCH))
        for device in devices:
            self._busy[device] = self._entries.pop(device)
        self._count -= len(devices)
        try:
            yield [(device, self._busy[device].popleft()) for device in devices]
        finally:
            for device in devices:
                # To the end of the round, so that a box with many does not hold up the others.
                if rest := self._busy.pop(device):
                    self._entries[device] = rest
                    self._arrived.set()
