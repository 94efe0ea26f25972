"""The receivers that docs/webhooks.md shows, taken from the page and run as processes of their own."""

import asyncio
import os
import re
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes import free_port

PAGE = (Path(__file__).parents[2] / "docs" / "webhooks.md").read_text()
SECONDS = 30

_BLOCK = re.compile(r"^<!-- example: ([\w-]+) -->\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILES = {"python": "receiver.py", "javascript": "receiver.mjs", "php": "receiver.php"}

BLOCKS = {name: (kind, content) for name, kind, content in _BLOCK.findall(PAGE)}
RECEIVERS = [name for name, (kind, _) in BLOCKS.items() if kind in _FILES]


@dataclass(frozen=True, slots=True)
class Receiver:
    """A receiver that listens, and what it prints."""

    url: str
    process: Process

    async def line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        async with asyncio.timeout(SECONDS):
            return (await self.process.stdout.readline()).decode().rstrip("\n")


def found(program: str) -> str:
    """Where a program is. An example that cannot be run proves nothing, so its absence is a failure."""
    where = shutil.which(program)
    if where is None:
        raise AssertionError(f"`{program}` is not installed, and an example of docs/webhooks.md needs it: .ci/services")
    return where


def command(name: str, file: Path, port: int) -> list[str]:
    """How the page says that the example is started."""
    match name:
        case "python-sdk" | "python-standardwebhooks":
            return [sys.executable, str(file), str(port)]
        case "python":  # without site-packages: it needs nothing else
            return [sys.executable, "-S", str(file), str(port)]
        case "node":
            return [found("node"), str(file), str(port)]
        case "php":
            return [found("php"), "-S", f"127.0.0.1:{port}", str(file)]
        case _:
            raise AssertionError(f"nobody has said how the example {name!r} is started")


@asynccontextmanager
async def running(name: str, folder: Path, secret: str, port: int | None = None) -> AsyncIterator[Receiver]:
    """The example as a process that listens, ended afterwards."""
    port = port or free_port()
    kind, program = BLOCKS[name]
    file = folder / _FILES[kind]
    file.write_text(program)
    errors = folder / "stderr"
    with errors.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *command(name, file, port),
            env=os.environ | {"WEBHOOK_SECRET": secret},
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=stderr,
        )
    try:
        await _listening(port, process, errors)
        yield Receiver(f"http://127.0.0.1:{port}/", process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def _listening(port: int, process: Process, errors: Path) -> None:
    for _ in range(SECONDS * 20):
        if process.returncode is not None:
            break
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return
    raise AssertionError(f"the example does not listen; it says:\n{errors.read_text()}")  # noqa: ASYNC240 - the end
