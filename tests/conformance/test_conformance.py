"""docs/conformance.md lists every rule of the contract with a test that exists."""

import ast
import hashlib
import re
from collections import Counter
from pathlib import Path

from pickupbox.domain import errors
from tests.conformance.additions import ADDITIONS
from tests.conformance.kinds import NUMBERED, ROW
from tests.conformance.rules import DIGEST, RULES, SHAPE

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "conformance.md"
SHARED = ROOT.parent / "shared"
OPEN_POINTS = "Open points, decided"
LISTED = RULES | ADDITIONS


def rows() -> list[tuple[str, str, str, str]]:
    """The page's rows: section, id, rule, test."""
    found = []
    for section, line in lines_by_section(PAGE.read_text()):
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and cells[0] != "id":
            found.append((section, *cells))
    return found  # type: ignore[return-value]


def lines_by_section(text: str) -> list[tuple[str, str]]:
    """Every line with the headings above it, the page's title left out."""
    headings: list[str] = []
    found = []
    for line in text.splitlines():
        if heading := re.fullmatch(r"(#+) (.+)", line):
            headings = [*headings[: len(heading[1]) - 1], heading[2]]
        found.append((" / ".join(headings[1:]), line))
    return found


def shape(text: str) -> dict[str, tuple[int, int]]:
    """Table rows and numbered rules under each heading."""
    counted: dict[str, tuple[int, int]] = {}
    in_table = False
    for section, line in lines_by_section(text):
        tables, numbered = counted.get(section, (0, 0))
        in_table = line.startswith("|") and (in_table or line.startswith("|---"))
        is_row = in_table and not line.startswith("|---")
        counted[section] = (tables + is_row, numbered + bool(re.match(r"\d+\. ", line)))
    counted.pop("", None)
    return counted


def names_of_tests_in(path: Path) -> set[str]:
    """The names of a file's tests, read without running it."""
    if not path.exists():
        return set()
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, functions)}


def test_the_page_lists_exactly_the_rules_in_their_sections() -> None:
    written = [(section, rule, text) for section, rule, text, _ in rows()]
    assert written == [(section, rule.id, rule.text) for section, rules in LISTED.items() for rule in rules]
    headings = {section for section, line in lines_by_section(PAGE.read_text()) if line.startswith("#") and section}
    assert headings == {part for section in LISTED for part in (section, section.partition(" / ")[0])}


def test_every_rule_has_an_id_of_its_own() -> None:
    ids = Counter(rule.id for rules in LISTED.values() for rule in rules)
    assert [rule for rule, count in ids.items() if count > 1] == []


def test_every_rule_names_its_test() -> None:
    named = re.compile(r"`tests/[\w/]+\.py::test_\w+`(, `tests/[\w/]+\.py::test_\w+`)*")
    assert [rule for _, rule, _, test in rows() if not named.fullmatch(test)] == []


def test_every_named_test_exists() -> None:
    missing = [
        f"{rule}: {path}::{name}"
        for _, rule, _, test in rows()
        for path, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", test)
        if name not in names_of_tests_in(ROOT / path)
    ]
    assert missing == []


def test_every_table_row_and_numbered_rule_of_the_contract_is_one_rule() -> None:
    transcribed = {
        section: (sum(rule.kind == ROW for rule in rules), sum(rule.kind == NUMBERED for rule in rules))
        for section, rules in RULES.items()
    }
    assert transcribed == SHAPE
    if (SHARED / "design.md").exists():
        rows_decided, _ = shape((SHARED / "design.md").read_text())["The open points of the interface, decided"]
        assert SHAPE[OPEN_POINTS] == (rows_decided, 0)
    if (SHARED / "interface.md").exists():
        contract = (SHARED / "interface.md").read_text()
        assert shape(contract) | {OPEN_POINTS: SHAPE[OPEN_POINTS]} == SHAPE
        assert hashlib.sha256(contract.encode()).hexdigest() == DIGEST, "the contract changed: read it again"


def test_what_is_added_stands_apart_from_the_contract() -> None:
    assert set(ADDITIONS) & set(RULES) == set()
    assert all(section.partition(" / ")[0] == "Additions to the interface" for section in ADDITIONS)


def test_every_error_code_is_in_the_table() -> None:
    codes = {kind.code for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "code")}
    written = {code for _, _, text, _ in rows() for code in re.findall(r"`(\w+)`", text)}
    assert len(codes) > 10
    assert codes - written == set()
