"""A page's shell blocks, each with the answer that the page shows below it, run as somebody follows the page."""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.readme.terminals import Terminal

SECONDS = 180.0  # for one block

_LINES = re.compile(
    r'^## (?P<step>[^\n]+)$|^```(?P<kind>\w*)(?: title="(?P<title>[^"]*)")?\n(?P<content>.*?)^```$', re.M | re.S
)


@dataclass(frozen=True, slots=True)
class Block:
    shell: str
    shown: str
    step: str = ""  # the heading above it
    terminal: str = ""  # the one that it keeps busy; none: it ends, and belongs in the one where everything else goes

    @property
    def pattern(self) -> str:
        """What the page shows, where … stands for any value."""
        return '[^"\n]+'.join(re.escape(part) for part in self.shown.split("…"))

    def fits(self, answer: str) -> bool:
        return re.fullmatch(self.pattern, answer) is not None


def blocks(text: str) -> list[Block]:
    """Every `sh` block, with the `text` block that follows it, or with nothing to be said."""
    found: list[Block] = []
    step, before = "", ""
    for line in _LINES.finditer(text):
        step = line["step"] or step
        if line["kind"] == "sh":
            found.append(Block(line["content"], "", step, line["title"] or ""))
        elif line["kind"] == "text" and before == "sh":
            found[-1] = Block(found[-1].shell, line["content"], step, found[-1].terminal)
        before = line["kind"] or ""
    return found


@dataclass(frozen=True, slots=True)
class Walked:
    block: Block
    answer: str
    seconds: float

    def check(self) -> None:
        """What keeps running says more, later."""
        fits = self.block.terminal or self.block.fits(self.answer)
        assert fits, f"{self.block.shell}\nthe page shows\n{self.block.shown}\nbut the answer is\n{self.answer}"


def follow(
    page: list[Block], folder: Path, environment: Mapping[str, str], outputs: Path, exports: str = ""
) -> Iterator[Walked]:
    """Paste block after block. What keeps running gets a terminal of its own; what it says to export is pasted too."""
    with ExitStack() as open_terminals:

        def terminal(name: str) -> Terminal:
            opened = open_terminals.enter_context(Terminal(folder, environment, outputs / name.replace(" ", "-")))
            opened.answer(exports, SECONDS)
            return opened

        main = terminal("terminal")
        for block in page:
            began = time.monotonic()
            if block.terminal:
                beside = terminal(block.terminal)
                beside.paste(block.shell)
                answer = beside.wait_for(block.pattern, SECONDS)
                more = "".join(line + "\n" for line in re.findall(r"^ *(export .*)$", answer, re.M))
                exports += more
                main.answer(more, SECONDS)
            else:
                answer = main.answer(block.shell, SECONDS)
            yield Walked(block, answer, time.monotonic() - began)
