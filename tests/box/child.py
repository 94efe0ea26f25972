"""A box with virtual doors in a process that can be killed: what a hand does at the doors comes by standard input."""

import asyncio
import sys

from pickupbox.box.drivers.virtual import VirtualDriver
from pickupbox.box.program import Box
from pickupbox.box.settings import read_settings


async def main() -> None:
    settings = read_settings()
    driver = VirtualDriver(settings.compartments)
    for code in sys.argv[1:]:
        driver.force_door(code)  # how the doors stood when the power came back
    hands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(hands), sys.stdin)
    box = Box(settings, driver)
    running = asyncio.create_task(box.run())
    while line := (await hands.readline()).decode().split():
        match line:
            case ["close", code]:
                driver.close_door(code)
            case ["force", code]:
                driver.force_door(code)
            case ["jam", code]:
                driver.jammed.add(code)
    running.cancel()


asyncio.run(main())
