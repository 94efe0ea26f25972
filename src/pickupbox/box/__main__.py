"""`pickupbox-box`, or `python -m pickupbox.box`: the program in the box, with nothing of the service installed."""

import argparse
import asyncio
import logging
import signal
import sys

from pickupbox.box.drivers import Driver
from pickupbox.box.drivers.virtual import VirtualDriver
from pickupbox.box.identity import IdentityError
from pickupbox.box.journal import JournalError
from pickupbox.box.keys import read_keys
from pickupbox.box.program import Box
from pickupbox.box.settings import PREFIX, BoxSettings, SettingError, read_settings


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="pickupbox-box", description="The program in the box.")
    commands = parser.add_subparsers(required=True, dest="command")
    running = commands.add_parser("run", help="run the box; settings come from PICKUPBOX_BOX_… variables")
    running.add_argument(
        "--page", metavar="[HOST:]PORT", help="play with virtual doors in a browser, in a sandbox only; on loopback"
    )
    enrolling = commands.add_parser("enroll", help="get the first certificate for a code, which is read from input")
    enrolling.add_argument("service", help="the service's address, https://…")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    try:
        settings = read_settings()
        if given.command == "enroll":
            asyncio.run(_enroll(settings, given.service))
        else:
            asyncio.run(_run(settings) if given.page is None else _run_with_page(settings, given.page))
    except (SettingError, JournalError, IdentityError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


async def _enroll(settings: BoxSettings, service: str) -> None:
    from pickupbox.box.enrollment import enroll  # an HTTP client, which a running box does not need

    if settings.identity_file is None:
        raise SettingError(f"{PREFIX}IDENTITY_FILE is needed: that is where key and certificate go")
    await enroll(settings.identity_file, settings.device, service, await asyncio.to_thread(input, "Code: "))
    print(f"{settings.identity_file} holds the key and its certificate.")


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


async def _run_with_page(settings: BoxSettings, address: str) -> None:
    from pickupbox.box.page.process import run  # a box on the street has no page

    await run(settings, address)


def _driver(settings: BoxSettings) -> Driver:
    if settings.driver == "virtual":
        return VirtualDriver(settings.compartments)
    from pickupbox.box.drivers.cu16 import Cu16Driver  # pyserial only where there is a board

    return Cu16Driver(settings.serial_port, settings.compartments, settings.open_bit)


if __name__ == "__main__":
    sys.exit(main())
