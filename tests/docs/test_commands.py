"""What the docs tell to type is there to be typed: marked blocks run, and every command and option exists."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.main import get_group

from pickupbox.cli import app
from pickupbox.settings import Settings
from tests.docs.blocks import BLOCKS, PAGES, ROOT, Block, commands_of
from tests.support.databases import environment_of, own_database

RUN = [block for block in BLOCKS if block.mark == "run"]
SECONDS = 60


@pytest.fixture(scope="module")
def place() -> Iterator[Settings]:
    with own_database() as made:
        yield made


@pytest.mark.parametrize("block", RUN, ids=str)
def test_a_block_that_is_marked_so_runs(block: Block, place: Settings, tmp_path: Path) -> None:
    bin_folder = Path(sys.executable).parent
    environment = environment_of(place) | {
        "PATH": f"{bin_folder}:/usr/bin:/bin",
        "PICKUPBOX_WEBHOOK_LOOPBACK": "True",
        "HOME": str(tmp_path),
    }
    begin = 'TENANT=$(pickupbox tenant add "A shop of the docs" | sed "s/ .*//;q")\n'
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", begin + block.content],
        env=environment,
        cwd=ROOT,
        input="a password of some length\n" * 2,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_some_blocks_are_marked_to_run() -> None:
    assert len(RUN) >= 2


def understood(words: list[str]) -> str | None:
    """What of a command there is not; None if all is there."""
    context = typer.Context(root := get_group(app))
    command: Any = root
    options: set[str] = {"--help"}
    for word in (one.rstrip(".,;:") for one in words):
        if isinstance(command, TyperGroup):
            if word not in command.commands:
                return None if re.match(r"[…\[]|[A-Z]|--help", word) else f"there is no {' '.join(words)!r}"
            _, command, _ = command.resolve_command(context, [word])
            options |= {one for parameter in command.params for one in parameter.opts}
        elif word.startswith("--") and word.split("=")[0].rstrip("`],.;:)") not in options:
            return f"{' '.join(words)!r} has no {word}"
    return None


def test_every_command_and_option_of_the_docs_exists() -> None:
    said = [
        (page.name, command)
        for page in PAGES
        if page.parent.name != "decisions"  # they speak of their day
        for command in commands_of(page.read_text())
        if command[0] == "pickupbox"
    ]
    wrong = {f"{page}: {what}" for page, command in said if (what := understood(command[1:]))}
    assert len(said) > 60
    assert wrong == set()


def test_a_command_that_is_not_there_is_noticed() -> None:
    assert understood(["tenant", "list"]) is None
    assert "no 'tenant fly'" in (understood(["tenant", "fly"]) or "")
    assert "has no --wings" in (understood(["check", "--wings"]) or "")
