"""A request that somebody wrote down: its headers and its body, from the usual kinds of dumps. Pure."""

import json
import re

_FIRST_LINE = re.compile(r"[A-Z]+ \S+( HTTP/[0-9.]+)?$|HTTP/[0-9.]+ ")
_BLANK_LINE = re.compile(rb"\r?\n(?:[<>] ?)?\r?\n")


def request_in(dump: bytes) -> tuple[dict[str, str], bytes]:
    """A whole request: headers, an empty line, the body, which ends where Content-Length says."""
    head, *rest = _BLANK_LINE.split(dump, maxsplit=1)
    headers = headers_in(head)
    body = rest[0] if rest else b""
    length = headers.get("content-length", "")
    return headers, body[: int(length)] if length.isascii() and length.isdigit() else body


def headers_in(text: bytes) -> dict[str, str]:
    """Headers as HTTP has them, as `curl -v` shows them, as JSON, or under the names of CGI (HTTP_SERVICE_…)."""
    written = text.decode("utf-8-sig", errors="replace").strip()
    if written.startswith("{"):
        try:
            given = json.loads(written)
        except ValueError:
            given = {}
        return {_name(name): _value(value) for name, value in given.items()}
    lines = [line.strip().removeprefix(">").removeprefix("<").strip() for line in written.splitlines()]
    pairs = (line.split(":", 1) for line in lines if ":" in line and not _FIRST_LINE.match(line))
    return {_name(name): value.strip() for name, value in pairs}


def _name(name: str) -> str:
    return name.strip().strip("\"'").lower().replace("_", "-").removeprefix("http-")


def _value(value: object) -> str:
    return _value(value[0]) if isinstance(value, list) and value else str(value)
