"""A readable house: small files with captions, one place for SQL, one for decisions, nothing of a machine."""

import re
from pathlib import Path

from tests.style.sources import (
    PACKAGE,
    ROOT,
    decided_statuses,
    files,
    libraries_in,
    modules,
    name_of,
    sql_in,
    stages_set_by_sql,
)

LONGEST = 350
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
# An address from which packages come. The lock has hashes, and works with any index that serves the same files.
REGISTRY = re.compile(
    r"pythonhosted\.org|pypi\.org/simple|https?://registry\.|/artifactory/|index[-_]url\s*=\s*\S|index-url\s+\S*://"
)


def test_no_source_file_is_longer_than_a_reader_likes() -> None:
    sources = [path for path in files() if path.suffix == ".py" and "migrations" not in path.parts]
    assert len(sources) > 50
    assert {name_of(path): length for path in sources if (length := len(path.read_text().splitlines())) > LONGEST} == {}


def test_every_folder_and_top_module_has_a_caption() -> None:
    folders = {f"{path.parent.relative_to(PACKAGE)}/" for path in modules() if path.parent != PACKAGE}
    top = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py"}
    captions = set(re.findall(r"^\| `([^`]+)` \| [^|\s]", ARCHITECTURE.read_text(), re.MULTILINE))
    expected = folders | top | {"database/migrations/"}
    assert {"domain/", "settings.py"} <= expected
    assert (expected - captions, captions - expected) == (set(), set())


def test_every_file_that_the_architecture_names_is_there() -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", ARCHITECTURE.read_text()))
    known = {path.relative_to(PACKAGE).as_posix() for path in modules()} | {path.name for path in modules()}
    assert len(named) > 20
    assert {name for name in named - known if not (ROOT / name).is_file()} == set()


def test_sql_lives_in_the_database_folder_alone() -> None:
    # The box's journal is a database of its own, in the box.
    rooms = {PACKAGE / "database" / "", PACKAGE / "box" / "journal.py"}
    elsewhere = [path for path in modules() if path.parent not in rooms and path not in rooms]
    assert {name_of(path): lines for path in elsewhere if (lines := sql_in(path.read_text()))} == {}


def test_the_domain_stands_on_python_alone() -> None:
    domain = [path for path in modules() if path.parent == PACKAGE / "domain"]
    assert len(domain) > 10
    assert {name_of(path): found for path in domain if (found := libraries_in(path.read_text()))} == {}


def test_only_the_lifecycle_decides_a_status() -> None:
    others = [path for path in modules() if path != PACKAGE / "domain" / "lifecycle.py"]
    assert {name_of(path): lines for path in others if (lines := decided_statuses(path.read_text()))} == {}
    assert {name_of(path): lines for path in others if (lines := stages_set_by_sql(path.read_text()))} == {}


def test_what_must_not_be_in_a_source_is_seen() -> None:
    assert libraries_in("import re, rich.table\ndef f(): from pickupbox.settings import A") == {
        "rich.table",
        "pickupbox.settings",
    }
    assert libraries_in("from pickupbox import vault\nfrom . import pins\nimport pickupbox") == {
        "pickupbox.vault",
        ".",
        "pickupbox",
    }
    assert (
        libraries_in("import collections.abc\nfrom pickupbox.domain.pins import A\nfrom pickupbox.domain import b")
        == set()
    )
    assert sql_in('x = 1\ny = f"SELECT {a}\\nFROM b"') == [2]
    assert sql_in('a("INSERT INTO b VALUES (1)")\nb("UPDATE c SET d = 1")\nc("DELETE FROM d")') == [1, 2, 3]
    assert sql_in('"""Update what was set: select one from many."""') == []
    assert decided_statuses("a = replace(s, stage=Stage.FAULT)\ns.status = Status.LOADED\nstage: Stage = Stage.A") == [
        1,
        2,
        3,
    ]
    assert decided_statuses("if s.status is Status.LOADED: a = replace(s, stage=taken.stage)") == []
    assert stages_set_by_sql("a = \"UPDATE s SET due_at = 1, stage = 'fault'\"") == [1]
    assert stages_set_by_sql("a = \"UPDATE s SET stage = step.stage WHERE stage <> 'fault'\"") == []


def test_no_lock_file_or_address_of_a_registry_is_in_the_repository() -> None:
    assert [name_of(path) for path in files() if path.name == "uv.lock"] == []
    assert "://" not in (ROOT / "requirements.lock").read_text()
    assert _files_with(REGISTRY) == []


def test_no_path_of_a_machine_is_in_the_repository() -> None:
    here = "|".join(re.escape(str(place)) for place in (ROOT, Path.home()) if place != Path("/"))
    somewhere = r"/(?:home|Users)/[a-z]\w*/"
    assert _files_with(re.compile(rf"(?<![\w.:/]){somewhere}|(?<![\w.$}}/])(?:{here})(?![\w-])")) == []


def _files_with(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for path in files():
        if path.parent == ROOT / "tests" / "style":  # speaks of what it looks for
            continue
        text = path.read_text(errors="replace")
        found += [f"{name_of(path)}: {hit.group()}" for hit in pattern.finditer(text)]
    return found


def test_every_icon_that_is_fetched_is_drawn() -> None:
    pages = "".join(path.read_text() for path in files() if PACKAGE in path.parents and path.suffix in {".py", ".html"})
    icons = (PACKAGE / "admin" / "icons.txt").read_text().split()
    assert len(icons) > 20
    assert [icon for icon in icons if not re.search(rf"""["']{icon}["']""", pages)] == []
