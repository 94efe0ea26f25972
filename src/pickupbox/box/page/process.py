"""A virtual box and its page, in one process, until it is told to stop."""

import asyncio
import signal

from pickupbox.box.page.play import Play, ProductionError
from pickupbox.box.page.server import read_address, serve
from pickupbox.box.settings import PREFIX, BoxSettings, SettingError


async def run(settings: BoxSettings, address: str) -> None:
    """Raises SettingError if there is nothing to play with here: real doors, production, or a port that is taken."""
    if settings.driver != "virtual":
        raise SettingError(f"--page plays with virtual doors, and {PREFIX}DRIVER is {settings.driver}")
    try:
        host, port = read_address(address)
    except ValueError as error:
        raise SettingError(f"--page: {error}") from None
    play = Play(settings)
    for stopping in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(stopping, play.stop)
    serving = asyncio.create_task(serve(play, host, port, _say))
    serving.add_done_callback(lambda _: play.stop())  # it ends by itself only if it cannot start
    try:
        await play.run()
    except ProductionError as error:
        raise SettingError(f"--page: {error}") from None
    finally:
        serving.cancel()
        (ended,) = await asyncio.gather(serving, return_exceptions=True)
    if isinstance(ended, OSError):
        raise SettingError(f"--page: {ended}")


def _say(url: str) -> None:
    print(f"The box's page: {url}", flush=True)
