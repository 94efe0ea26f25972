"""A demo in a process of its own, on a free port, with a database that is dropped at the end."""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pickupbox.database import schema
from tests.support.databases import SERVER_URL
from tests.support.processes import free_port

READY_SECONDS = 60.0
STOP_SECONDS = 10.0


def without_settings() -> dict[str, str]:
    """The environment of a newcomer, who has set nothing of ours."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PICKUPBOX_")}


@dataclass(frozen=True, slots=True)
class RunningDemo:
    process: subprocess.Popen[bytes]
    output: Path

    def said(self) -> str:
        """Everything it has printed so far."""
        return self.output.read_text()

    def said_when_ready(self, sign: str) -> str:
        """What it has printed once a whole line begins with the sign."""
        end = time.monotonic() + READY_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            said = self.said()
            if re.search(rf"^{re.escape(sign)}.*\n", said, re.MULTILINE):
                return said
            time.sleep(0.1)
        raise AssertionError(f"the demo did not get ready; it said: {self.said()!r}")

    def processes(self) -> set[int]:
        """The demo's process and all that came from it."""
        parents = dict(_parents())
        family = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in family} - family:
            family |= more
        return family

    def terminate(self) -> float:
        """End it by SIGTERM; how many seconds the end took."""
        began = time.monotonic()
        self.process.terminate()
        self.process.wait(timeout=3 * STOP_SECONDS)
        return time.monotonic() - began


PROGRAM = (sys.executable, "-m", "pickupbox")


@contextmanager
def running_demo(*options: str, program: Sequence[str] = PROGRAM, **variables: str) -> Iterator[RunningDemo]:
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        # A file, not a pipe: a process that is left behind would hold a pipe open.
        output = Path(folder) / "output"
        with output.open("wb") as stdout:
            process = subprocess.Popen(
                [*program, "demo", "--fresh", "--port", str(port), *options],
                env=without_settings() | {"PICKUPBOX_DATABASE_URL": SERVER_URL, "XDG_STATE_HOME": folder} | variables,
                stdout=stdout,
            )
        demo = RunningDemo(process, output)
        try:
            yield demo
        finally:
            if process.poll() is None:
                demo.terminate()
            asyncio.run(schema.drop_database(SERVER_URL, f"pickupbox_demo_{port}"))


def lives(pid: int) -> bool:
    """Whether a process still runs; one that only waits to be buried does not."""
    return pid in dict(_parents())


def _parents() -> Iterator[tuple[int, int]]:
    """Every living process with its parent."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            facts = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if not facts["State"].startswith(("Z", "X")):
            yield int(facts["Pid"]), int(facts["PPid"])
