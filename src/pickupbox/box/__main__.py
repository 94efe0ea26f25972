"""`python -m pickupbox.box run`: the program in the box, with nothing of the service installed."""

import argparse
import asyncio
import logging
import signal
import sys

from pickupbox.box.drivers import Driver
from pickupbox.box.drivers.virtual import VirtualDriver
from pickupbox.box.journal import JournalError
from pickupbox.box.keys import read_keys
from pickupbox.box.program import Box
from pickupbox.box.settings import BoxSettings, SettingError, read_settings


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m pickupbox.box", description="The program in the box.")
    commands = parser.add_subparsers(required=True)
    commands.add_parser("run", help="run the box; settings come from PICKUPBOX_BOX_… variables")
    parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    try:
        asyncio.run(_run(read_settings()))
    except (SettingError, JournalError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


async def _run(settings: BoxSettings) -> None:
    box = Box(settings, _driver(settings))
    for stopping in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(stopping, box.stop)
    if settings.keypad is None:
        await box.run()
        return
    keys = asyncio.create_task(read_keys(settings.keypad, box.press))
    try:
        await box.run()
    finally:
        keys.cancel()


def _driver(settings: BoxSettings) -> Driver:
    if settings.driver == "virtual":
        return VirtualDriver(settings.compartments)
    from pickupbox.box.drivers.cu16 import Cu16Driver  # pyserial only where there is a board

    return Cu16Driver(settings.serial_port, settings.compartments, settings.open_bit)


if __name__ == "__main__":
    sys.exit(main())
