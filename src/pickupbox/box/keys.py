"""Keys from a device that sends one ASCII character per key: a serial keypad, a terminal, a pipe."""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)

KEYS_AT_ONCE = 32
AGAIN_SECONDS = 5.0

Press = Callable[[str], Coroutine[Any, Any, None]]


async def read_keys(path: Path, press: Press) -> None:
    """Give each key on, in order, for ever. None waits for the one before: what is typed meanwhile is not for later."""
    while True:
        try:
            device = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        except OSError as error:
            log.warning("the keypad cannot be opened: %s", error)
        else:
            try:
                await _read(device, press)
            finally:
                os.close(device)
        await asyncio.sleep(AGAIN_SECONDS)


async def _read(device: int, press: Press) -> None:
    """Until the device is gone."""
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()
    under_way: set[asyncio.Task[None]] = set()

    def take() -> None:
        try:
            found = os.read(device, KEYS_AT_ONCE)
        except BlockingIOError:
            return
        except OSError:
            found = b""
        if not found:
            loop.remove_reader(device)
            gone.set()
        for key in found.decode("ascii", "ignore"):
            if len(under_way) < KEYS_AT_ONCE:
                pressed = loop.create_task(press(key))
                under_way.add(pressed)
                pressed.add_done_callback(under_way.discard)

    loop.add_reader(device, take)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(device)
