"""The README's shell blocks, each with the answer that the README shows below it."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
BETWEEN_BLOCKS = "\x1e"
SECONDS = 120

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    shell: str
    shown: str

    def fits(self, answer: str) -> bool:
        """Whether the answer is what the README shows, where … stands for any value."""
        pattern = '[^"\n]+'.join(re.escape(part) for part in self.shown.split("…"))
        return re.fullmatch(pattern, answer) is not None


def blocks(text: str) -> list[Block]:
    """Every `sh` block, with the `text` block that follows it, or with nothing to be said."""
    fenced: list[tuple[str, str]] = _FENCED.findall(text)
    shown_below = [*fenced[1:], ("", "")]
    return [
        Block(content, below if kind_below == "text" else "")
        for (kind, content), (kind_below, below) in zip(fenced, shown_below, strict=True)
        if kind == "sh"
    ]


def run(walk: list[Block], exports: str) -> list[str]:
    """Run the demo's exports and all blocks in one shell, as pasted into one terminal; what each block printed."""
    script = exports + f"printf '{BETWEEN_BLOCKS}'\n".join(block.shell for block in walk)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"the README's lines failed:\n{done.stdout}\n{done.stderr}"
    assert done.stderr == ""
    return done.stdout.split(BETWEEN_BLOCKS)
