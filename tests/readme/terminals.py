"""A terminal as somebody sits before it: blocks are pasted into it, and it is read."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

LOOK_SECONDS = 0.05
STOP_SECONDS = 20.0
PASTED = "\x1e"  # printed when a block has ended
# Blocks come by a pipe of their own, so that no command takes the next one for its input.
SHELL = "while IFS= read -r -d '' -u {fd} pasted; do eval \"$pasted\"; printf '{mark}'; done"


class Terminal:
    def __init__(self, folder: Path, environment: Mapping[str, str], output: Path) -> None:
        self._output = output
        reads, self._keys = os.pipe()
        with output.open("wb") as said:
            self._shell = subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", SHELL.format(fd=reads, mark=PASTED)],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                pass_fds=(reads,),
                start_new_session=True,
            )
        os.close(reads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """The window is closed: what runs in it is told to end."""
        os.close(self._keys)
        if self._shell.poll() is None:
            os.killpg(self._shell.pid, signal.SIGTERM)
            self._shell.wait(STOP_SECONDS)

    @property
    def said(self) -> str:
        return self._output.read_text()

    def paste(self, block: str) -> None:
        os.write(self._keys, block.encode() + b"\0")

    def wait_for(self, pattern: str, seconds: float, after: int = 0) -> str:
        """What it has said after so many characters, up to and with the pattern."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            lives = self._shell.poll() is None
            if found := re.search(pattern, self.said[after:], re.DOTALL):
                return self.said[after : after + found.end()]
            if not lives:
                break
            time.sleep(LOOK_SECONDS)
        raise AssertionError(f"it does not say {pattern!r}; it said\n{self.said[after:]}")

    def answer(self, block: str, seconds: float) -> str:
        """Paste a block, and wait until it has ended; what it printed."""
        before = len(self.said)
        self.paste(block)
        return self.wait_for(PASTED, seconds, before).removesuffix(PASTED)
