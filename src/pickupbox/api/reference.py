"""The API's reference as a page: Scalar, from this address alone, with the document beside it. It needs no key.

Without a script the page is the plain list of operations that it begins with.
"""

import hashlib
import html
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from pickupbox.api.operations import OPERATIONS, Operation

FOLDER = Path(__file__).parent / "static"
FILES = {
    "reference.css": "text/css; charset=utf-8",
    "reference.js": "text/javascript; charset=utf-8",
    "scalar.js": "text/javascript; charset=utf-8",
}
# Scalar writes style attributes, so styles may be inline; scripts may not, and nothing but this origin is asked.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    version: str
    compressed: bool = False


@cache
def file(name: str) -> File:
    """A file of the page. Scalar is kept as it is sent, compressed, by `just setup`."""
    compressed = name == "scalar.js"
    path = FOLDER / "vendor" / "scalar.js.gz" if compressed else FOLDER / name
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise RuntimeError(f"there is no {path.name}: run `just setup`") from None
    return File(content, hashlib.sha256(content).hexdigest()[:12], compressed)


def docs(environment: str) -> Callable[[Request], Awaitable[Response]]:
    async def docs_page(_: Request) -> Response:
        return HTMLResponse(_page(environment), headers={"content-security-policy": POLICY})

    return docs_page


def docs_file(name: str) -> Callable[[Request], Awaitable[Response]]:
    async def docs_asset(_: Request) -> Response:
        found = file(name)
        headers = {"content-type": FILES[name], "cache-control": _FOREVER}
        if found.compressed:
            headers["content-encoding"] = "gzip"
        return Response(found.content, headers=headers)

    return docs_asset


@cache
def _page(environment: str) -> str:
    addresses = {name: f"docs/{name}?{file(name).version}" for name in FILES}
    return page(addresses, environment, can_try=environment == "sandbox")


def page(addresses: dict[str, str], environment: str, *, can_try: bool = False) -> str:
    """The page with its files at these addresses, and the document beside it."""
    served = [operation for operation in OPERATIONS if environment == "sandbox" or not operation.sandbox_only]
    return (
        _PAGE.replace("{icon}", _ICON)
        .replace("{css}", addresses["reference.css"])
        .replace("{js}", addresses["reference.js"])
        .replace("{scalar}", addresses["scalar.js"])
        .replace("{try}", "yes" if can_try else "no")
        .replace("{sections}", "".join(map(_section, served)))
    )


def _section(operation: Operation) -> str:
    takes = (
        ", ".join(f"<code>{name}</code>" for name in operation.query_model.model_fields)
        if operation.query_model
        else ""
    )
    return (
        f"<section><h2><code>{operation.method} {html.escape(operation.path)}</code>"
        f"{' <small>Addition to the interface</small>' if operation.addition else ''}</h2>"
        f"<p><b>{html.escape(operation.summary)}.</b> {html.escape(operation.description)}</p>"
        f"<p>{f'Takes {takes} in the query. ' if takes else ''}"
        f"Answers {operation.success_status} <code>{operation.success_model.__name__}</code>; errors "
        f"{', '.join(map(str, operation.error_statuses))}.</p></section>"
    )


_ICON = (
    "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'>"
    "<rect width='32' height='32' rx='7' fill='%230f3b3f'/><path d='M6 12 16 7l10 5-10 5z' fill='%23f1c48a'/>"
    "<path d='M6 12v9l10 5v-9z' fill='%23d39a57'/><path d='M26 12v9l-10 5v-9z' fill='%23b57c3d'/></svg>"
)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Pickupbox API</title>
<link rel="icon" href="{icon}">
<link rel="stylesheet" href="{css}">
<script src="{scalar}" defer></script>
<script src="{js}" defer></script>
</head>
<body>
<div id="reference" data-document="openapi.json" data-try="{try}">
<main class="plain">
<h1>Pickupbox API</h1>
<p>Every call takes <code>Authorization: Bearer &lt;API_KEY&gt;</code> and speaks JSON.
The whole contract, for tools: <a href="openapi.json">openapi.json</a>.</p>
{sections}
</main>
</div>
</body>
</html>
"""
