"""Style sheets, scripts and pictures: from the package, compressed once, named by what is in them."""

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from pickupbox.domain.errors import NotFound

FOLDER = Path(__file__).parent / "static"
FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    compressed: bytes
    kind: str
    version: str


@cache
def file(path: str) -> File | None:
    """The file of that name; only what lies in the folder has one."""
    known = {str(one.relative_to(FOLDER)): one for one in FOLDER.rglob("*") if one.is_file()}
    if path not in known:
        return None
    content = known[path].read_bytes()
    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
    version = hashlib.sha256(content).hexdigest()[:12]
    return File(content, gzip.compress(content, 9, mtime=0), kind, version)


def address_of(path: str) -> str:
    """Where the file is served; the address changes with its content."""
    found = file(path)
    if found is None:
        raise RuntimeError(f"there is no static file {path}: run `just setup`")
    return f"/static/{path}?{found.version}"


@cache
def icon(name: str) -> str:
    """An icon of Tabler's, drawn in the colour of the text around it; words beside it say what it means."""
    try:
        svg = (FOLDER / "vendor" / "icons" / f"{name}.svg").read_text()
    except FileNotFoundError:
        raise RuntimeError(f"there is no icon {name}: add it to admin/icons.txt and run `just setup`") from None
    return " ".join(svg.split()).replace('<svg xmlns="http://www.w3.org/2000/svg"', '<svg aria-hidden="true"', 1)


async def serve(request: Request) -> Response:
    found = file(request.path_params["path"])
    if found is None:
        raise NotFound
    headers = {"content-type": found.kind, "cache-control": FOREVER, "vary": "accept-encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found.compressed, headers=headers | {"content-encoding": "gzip"})
    return Response(found.content, headers=headers)
