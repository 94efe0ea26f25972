"""The files of the house, and what a look at their source finds."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "pickupbox"

_SQL = re.compile(
    r"\bSELECT\b.*\bFROM\b|\bINSERT\s+INTO\b|\bUPDATE\b.*\bSET\b|\bDELETE\s+FROM\b|\b(?:CREATE|ALTER|DROP)\s+TABLE\b",
    re.DOTALL,
)
_STAGE_IN_SQL = re.compile(r"\bSET\b[^;]*?\bstage\s*=\s*'", re.DOTALL)


def files() -> list[Path]:
    """Every text file that is in the repository, or is about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    return [path for name in listed if name and (path := ROOT / name).is_file()]


def modules() -> list[Path]:
    """The package's modules; migrations are history and stay as they are."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if "migrations" not in path.parts]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def libraries_in(source: str) -> set[str]:
    """What the source imports that is neither Python's own nor the domain's."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                imported |= {alias.name for alias in names}
            case ast.ImportFrom(module=module, names=names, level=level):
                found = f"{'.' * level}{module or ''}"
                imported |= {f"pickupbox.{alias.name}" for alias in names} if found == "pickupbox" else {found}
    return {
        name
        for name in imported
        if name.partition(".")[0] not in sys.stdlib_module_names and not f"{name}.".startswith("pickupbox.domain.")
    }


def sql_in(source: str) -> list[int]:
    """The lines on which a string holds an SQL statement."""
    return [line for line, text in _strings(source) if _SQL.search(text)]


def stages_set_by_sql(source: str) -> list[int]:
    """The lines on which SQL sets a stage to a word of its own."""
    return [line for line, text in _strings(source) if _STAGE_IN_SQL.search(text)]


def decided_statuses(source: str) -> list[int]:
    """The lines on which a member of Status or Stage is given to a `status` or a `stage`."""
    return sorted(line for line, name, value in _givings(source) if name in {"status", "stage"} and _is_member(value))


def _strings(source: str) -> Iterator[tuple[int, str]]:
    """Every string with its line; what an f-string fills in is left out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value for part in node.values if isinstance(part, ast.Constant))
            yield node.lineno, " ".join(str(part) for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _givings(source: str) -> Iterator[tuple[int, str | None, ast.expr]]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.keyword(arg=name, value=value):
                yield value.lineno, name, value
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield value.lineno, _name(target), value
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield value.lineno, _name(target), value


def _name(target: ast.expr) -> str | None:
    match target:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return None


def _is_member(value: ast.expr) -> bool:
    members = (node for node in ast.walk(value) if isinstance(node, ast.Attribute))
    return any(isinstance(node.value, ast.Name) and node.value.id in {"Status", "Stage"} for node in members)
