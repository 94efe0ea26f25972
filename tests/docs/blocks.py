"""The fenced blocks of README.md and docs/, each with the comment that stands above it."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLLOWED = {"README.md", "docs/quickstart.md"}  # tests/readme pastes their `sh` blocks into a shell, in their order

_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>[a-z ]+)(?:: (?P<more>.+?))? -->\n)?"
    r"(?P<fence>```+|~~~+)(?P<kind>[\w-]*)[^\n]*\n(?P<content>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Block:
    page: str
    line: int
    kind: str
    content: str
    mark: str  # example, run, tested or not run
    more: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: str, text: str) -> list[Block]:
    return [
        Block(
            page,
            text.count("\n", 0, found.start("fence")) + 1,
            found["kind"],
            found["content"],
            found["mark"] or "",
            found["more"] or "",
        )
        for found in _BLOCK.finditer(text)
    ]


BLOCKS = [block for page in PAGES for block in blocks_of(page.relative_to(ROOT).as_posix(), page.read_text())]


def commands_of(text: str) -> list[list[str]]:
    """The words of each `pickupbox …` command in a block or a line, without what a shell adds around them."""
    joined = text.replace("\\\n", " ")
    lines = re.findall(r"(?:^|[\s(`])(pickupbox(?:-box)? [^`|>\n]*)", re.sub(r"\s#.*$", "", joined, flags=re.MULTILINE))
    return [re.sub(r"[;)&<].*$", "", line).split() for line in lines]
