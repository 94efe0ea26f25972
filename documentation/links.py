"""Links that work on GitHub and on the site: what lies outside docs/ becomes a page of the site too."""

import re
from os.path import relpath
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

# On GitHub the code that makes them, on the site what it makes.
MADE = {"src/pickupbox/devices/asyncapi.py": "messages.md", "src/pickupbox/api/openapi.py": "api/index.html"}

_PARTS = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()([^)\s#]*)(#[^)\s]*)?(?=\))")
_NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"  # words of the docs are found, not those of the code
_KINDS = {".py": "python", ".json": "json", ".php": "php", ".conf": "text", ".toml": "toml", ".js": "javascript"}


class DeadLinkError(Exception):
    """A link leads nowhere."""


def place_of(path: Path) -> str:
    """Where a file or folder of the repository stands in the site's sources."""
    name = path.relative_to(ROOT).as_posix()
    if name in MADE:
        return MADE[name]
    if path.is_relative_to(DOCS):
        inside = path.relative_to(DOCS).as_posix()
        return f"{inside}/index.md" if path.is_dir() else inside
    return f"source/{name if path.suffix == '.md' else f'{name}.md'}"


def with_site_links(page: Path, place: str, text: str) -> tuple[str, set[Path]]:
    """The text of a page with the links of the site, and the files outside docs/ that it leads to."""
    outside: set[Path] = set()

    def link(found: re.Match[str]) -> str:
        target, anchor = found[1], found[2] or ""
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        path = (page.parent / target).resolve()
        if not path.exists():
            raise DeadLinkError(f"{page.relative_to(ROOT)}: {target} leads nowhere")
        if not path.is_relative_to(DOCS) and path.relative_to(ROOT).as_posix() not in MADE:
            outside.add(path)
        return relpath(place_of(path), Path(place).parent) + anchor

    parts = _PARTS.split(text)
    return "".join(part if number % 2 else _LINK.sub(link, part) for number, part in enumerate(parts)), outside


def source_page(path: Path) -> str:
    """A file that is not Markdown, or a folder of such files, as a page."""
    begin = f"{_NOT_SEARCHED}# {path.relative_to(ROOT).as_posix()}\n\n"
    if path.is_dir():
        files = sorted(one for one in path.iterdir() if one.is_file())
        return begin + "".join(f"## {one.name}\n\n{_fenced(one)}\n" for one in files)
    return begin + _fenced(path)


def _fenced(path: Path) -> str:
    return f"~~~~{_KINDS.get(path.suffix, 'text')}\n{path.read_text().rstrip()}\n~~~~\n"
