"""Builds the site: the pages of docs/, those that the code makes, and the files of the repository that they link to."""

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from documentation import wire
from documentation.links import DOCS, ROOT, place_of, source_page, with_site_links
from documentation.navigation import NAVIGATION, decisions_page, navigation, pages_without_a_place
from pickupbox.api import openapi, reference
from pickupbox.devices import asyncapi

HERE = Path(__file__).parent
SECONDS = 120
DEMO = {"url": "http://127.0.0.1:8080/v1", "description": "a demo on your machine"}

_PICTURE = re.compile(r"^!\[[^\]]*\]\((pictures/[\w-]+\.svg)\)$", re.MULTILINE)
_EMPTY_HEADER = re.compile(r"<th([^>]*)></th>")
_COLOUR = re.compile(r"\x1b\[[\d;]*m")


class SiteError(Exception):
    """The site cannot be built as it is; the text says what to do."""


def build(site: Path, work: Path) -> None:
    """Build strictly into `site`, from sources that are put together in `work`."""
    if homeless := pages_without_a_place():
        raise SiteError(f"give {', '.join(homeless)} a place in documentation/navigation.py")
    for folder in (site, work):
        shutil.rmtree(folder, ignore_errors=True)
    _stage(work / "pages")
    shutil.copytree(HERE / "theme", work / "theme")
    settings = (HERE / "zensical.toml").read_text()
    (work / "zensical.toml").write_text(settings.replace('"{navigation}"', _toml(navigation())))
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict", "--clean"],
        cwd=work,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise SiteError(_COLOUR.sub("", done.stdout + done.stderr).split("Traceback")[0])
    _name_headers(work / "site")
    (work / "site").rename(site)


def _stage(pages: Path) -> None:
    """Every page where the site wants it, with the site's links, and what those lead to."""
    named = {
        page.removeprefix("source/") for entries in NAVIGATION.values() for _, page in entries if "source/" in page
    }
    waiting = {*DOCS.rglob("*.md"), *(ROOT / name for name in named)}
    done: set[Path] = set()
    while waiting:
        path = waiting.pop()
        done.add(path)
        if path.suffix == ".md":
            text, outside = with_site_links(path, place_of(path), path.read_text())
            waiting |= outside - done
            text = _PICTURE.sub(_drawn, text)
        else:
            text = source_page(path)
        _write(pages / place_of(path), text)
    _write(pages / "decisions" / "index.md", decisions_page())
    _write(pages / "messages.md", wire.page())
    _write(pages / "asyncapi.json", json.dumps(asyncapi.document(), indent=2))
    shutil.copytree(DOCS / "pictures", pages / "pictures")
    shutil.copytree(HERE / "look", pages / "look")
    _reference(pages / "api")


def _reference(folder: Path) -> None:
    """The reference as the API serves it, but for trying: the site speaks with no sandbox."""
    _write(folder / "openapi.json", json.dumps(openapi.document("sandbox") | {"servers": [DEMO]}, indent=2))
    for name in reference.FILES:
        found = reference.file(name)
        (folder / name).write_bytes(gzip.decompress(found.content) if found.compressed else found.content)
    (folder / "index.html").write_text(reference.page({name: name for name in reference.FILES}, "sandbox"))


def _name_headers(site: Path) -> None:
    """A header without words heads nothing: screen readers are told that it is an empty cell."""
    for path in site.rglob("*.html"):
        path.write_text(_EMPTY_HEADER.sub(r"<td\1></td>", path.read_text()))


def _drawn(found: re.Match[str]) -> str:
    """A drawing becomes part of the page, so that it follows the page's colours."""
    return f'<div class="drawing">{(DOCS / found[1]).read_text().strip()}</div>'


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _toml(value: Any) -> str:
    match value:
        case dict():
            return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items()) + " }"
        case list():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)
