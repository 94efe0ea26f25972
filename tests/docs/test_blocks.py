"""Every code block of README and docs is run by a test, or says why not."""

import ast
import json
import re

import pytest

from tests.docs.blocks import BLOCKS, FOLLOWED, ROOT, Block, blocks_of, commands_of
from tests.readme import walk
from tests.webhooks import examples


def what_is_wrong(block: Block, before: Block | None) -> str | None:
    """Why nobody vouches for the block; None if somebody does."""
    match block.mark:
        case "not run":
            return None if len(block.more.split()) > 2 else "says too little about why it is not run"
        case "example":
            return (
                None if examples.BLOCKS.get(block.more) == (block.kind, block.content) else "no test has this example"
            )
        case "tested":
            return wrong_with_the_test(block)
        case "run":
            return None if block.kind == "sh" else "only `sh` blocks are run, by tests/docs/test_commands.py"
        case "":
            return wrong_without_a_mark(block, before)
        case other:
            return f"there is no mark {other!r}"


def wrong_with_the_test(block: Block) -> str | None:
    """A test that is named must be there, and its file must have every word that says what is run."""
    path, _, name = block.more.partition("::")
    if not (ROOT / path).is_file():
        return f"there is no {path}"
    source = (ROOT / path).read_text()
    tests = {one.name for one in ast.parse(source).body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    if name not in tests:
        return f"{path} has no test {name}"
    said = {
        word for command in commands_of(block.content) for word in command[1:3] if re.fullmatch(r"[a-z][a-z-]*", word)
    }
    missing = sorted(word for word in said if f'"{word}"' not in source)
    return f"{path} does not run {missing}" if missing or not said else None


def wrong_without_a_mark(block: Block, before: Block | None) -> str | None:
    followed = block.page in FOLLOWED
    if block.kind == "json":
        json.loads(block.content)
        return None
    if followed and block.kind == "sh":
        known = {one.shell for one in walk.blocks((ROOT / block.page).read_text())}
        return None if block.content in known else "tests/readme does not find it"
    if followed and block.kind == "text" and before is not None and before.kind == "sh":
        return None  # what the block above prints: tests/readme compares it
    return "say by which test it is run, or why it is not: see tests/docs/test_blocks.py"


def test_every_block_is_run_or_says_why_not() -> None:
    found = [
        f"{block}: {wrong}"
        for before, block in zip([None, *BLOCKS], BLOCKS, strict=False)
        if (wrong := what_is_wrong(block, before))
    ]
    assert len(BLOCKS) > 30
    assert found == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("```\nls\n```", "say by which test"),
        ("```sh\nls\n```", "say by which test"),
        ("<!-- not run: no -->\n```sh\nls\n```", "says too little"),
        ("<!-- example: nothing -->\n```python\nls\n```", "no test has this"),
        ("<!-- tested: tests/nowhere.py::test_a -->\n```sh\npickupbox check\n```", "there is no tests/nowhere.py"),
        ("<!-- tested: tests/cli/test_users.py::test_a -->\n```sh\npickupbox check\n```", "has no test test_a"),
        (
            "<!-- tested: tests/cli/test_users.py::test_an_invitation_prints_its_link -->\n```sh\npickupbox fly\n```",
            "does not run ['fly']",
        ),
        ("<!-- run -->\n```python\nls\n```", "only `sh`"),
        ("<!-- trust: me -->\n```sh\nls\n```", "no mark 'trust'"),
    ],
)
def test_a_mark_alone_is_not_believed(text: str, wrong: str) -> None:
    (block,) = blocks_of("docs/made-up.md", text)
    assert wrong in (what_is_wrong(block, None) or "")


def test_json_that_does_not_parse_is_noticed() -> None:
    (block,) = blocks_of("docs/made-up.md", "```json\n{oops}\n```")
    with pytest.raises(json.JSONDecodeError):
        what_is_wrong(block, None)
