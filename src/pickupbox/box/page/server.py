"""A tiny HTTP/1.1 server for one page: its files, a stream of what happens, and acts. A bound on everything.

It knows no users. It listens on loopback unless told otherwise, answers only to an address or `localhost` (so that no
name of a stranger can be pointed at it), and takes an act only from the page itself (its origin, and JSON, which no
form of another site can send). Nothing is kept by the browser.
"""

import asyncio
import json
import logging
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from pickupbox.box.page.play import ActRefusedError, Play

log = logging.getLogger(__name__)

HEAD_BYTES = 8 * 1024
BODY_BYTES = 512
REQUEST_SECONDS = 5.0
WRITE_SECONDS = 5.0
CONNECTIONS = 64
STREAMS = 8
TICK_SECONDS = 0.05
SIGN_OF_LIFE_SECONDS = 15.0

STATIC = Path(__file__).parent / "static"
FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Connection": "close",
}
_HOST = re.compile(r"(localhost|[0-9]{1,3}(\.[0-9]{1,3}){3}|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?")
_ADDRESS = re.compile(r"(?:(localhost|[0-9.]+|\[[0-9a-fA-F:]+\]):)?([0-9]{1,5})")
_REQUEST_LINE = re.compile(r"([A-Z]{1,10}) (/[!-~]{0,200}) HTTP/1\.[01]")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")


class RefusedError(Exception):
    def __init__(self, status: HTTPStatus, why: str = "") -> None:
        super().__init__(why or status.phrase)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]


def read_address(text: str) -> tuple[str, int]:
    """`8090`, `0.0.0.0:8090` or `[::1]:8090`; raises ValueError."""
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found[2]) > 65_535:
        raise ValueError("not a port, or an address and a port with a colon between")
    return (found[1] or "127.0.0.1").strip("[]"), int(found[2])


async def serve(play: Play, host: str, port: int, started: Callable[[str], None] = lambda _: None) -> None:
    """For ever; `started` is told the address. Raises OSError if the port cannot be had."""
    page = _Page(play)
    server = await asyncio.start_server(page.meet, host, port, limit=HEAD_BYTES)
    shown = f"[{host}]" if ":" in host else host
    started(f"http://{shown}:{server.sockets[0].getsockname()[1]}/")
    try:
        await server.serve_forever()
    finally:
        server.close()
        await page.part()


class _Page:
    def __init__(self, play: Play) -> None:
        self._play = play
        self._files = {path: ((STATIC / name).read_bytes(), kind) for path, (name, kind) in FILES.items()}
        self._met: set[asyncio.Task[None]] = set()
        self._streams = 0

    def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._met) >= CONNECTIONS:
            writer.transport.abort()
            return
        meeting = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._met.add(meeting)
        meeting.add_done_callback(self._met.discard)

    async def part(self) -> None:
        meetings = [*self._met]
        for meeting in meetings:
            meeting.cancel()
        await asyncio.gather(*meetings, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            try:
                async with asyncio.timeout(REQUEST_SECONDS):
                    request = await _read_head(reader)
                    _check_host(request)
                    body = await _read_body(reader, request) if request.method == "POST" else b""
                await self._answer(request, body, reader, writer)
            except RefusedError as refused:
                await _write(writer, refused.status, json.dumps({"refused": str(refused)}).encode())
        except (TimeoutError, ConnectionError, asyncio.IncompleteReadError):
            pass
        except Exception as error:
            log.exception("the page failed: %s", error)  # noqa: TRY401 - one request must not end the others
        finally:
            writer.close()
            with suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(WRITE_SECONDS):
                    await writer.wait_closed()

    async def _answer(
        self, request: Request, body: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        match request.method, request.path:
            case "GET", path if path in self._files:
                content, kind = self._files[path]
                await _write(writer, HTTPStatus.OK, content, kind)
            case "GET", "/events":
                await self._stream(reader, writer)
            case "POST", "/act":
                await self._act(body)
                await _write(writer, HTTPStatus.OK, b"{}")
            case _, path if path in self._files or path in ("/events", "/act"):
                raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED)
            case _:
                raise RefusedError(HTTPStatus.NOT_FOUND)

    async def _act(self, body: bytes) -> None:
        try:
            await self._play.act(_plain_object(body))
        except ActRefusedError as refused:
            raise RefusedError(HTTPStatus.CONFLICT, str(refused)) from None
        except (TypeError, ValueError, RecursionError):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "not an act") from None

    async def _stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Server-sent events: the state whenever it is another, and each message on the cable."""
        if self._streams >= STREAMS:
            raise RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "too many look at this page")
        self._streams += 1
        try:
            writer.write(_head(HTTPStatus.OK, {"Content-Type": "text/event-stream"}))
            loop = asyncio.get_running_loop()
            shown, seen, wrote = "", 0, loop.time()
            while not reader.at_eof() and not writer.is_closing():
                lines = self._play.lines_after(seen)
                state = json.dumps(self._play.state())
                events = [_event("message", json.dumps(line)) for line in lines]
                if state != shown:
                    events.append(_event("state", state))
                if not events and loop.time() - wrote > SIGN_OF_LIFE_SECONDS:
                    events.append(b":\n\n")
                if events:
                    shown, seen, wrote = state, lines[-1]["number"] if lines else seen, loop.time()
                    writer.write(b"".join(events))
                    async with asyncio.timeout(WRITE_SECONDS):
                        await writer.drain()
                await asyncio.sleep(TICK_SECONDS)
        finally:
            self._streams -= 1


async def _read_head(reader: asyncio.StreamReader) -> Request:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
    except asyncio.LimitOverrunError:
        raise RefusedError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from None
    except UnicodeDecodeError:
        raise RefusedError(HTTPStatus.BAD_REQUEST) from None
    first, *rest = head.removesuffix("\r\n\r\n").split("\r\n")
    asked = _REQUEST_LINE.fullmatch(first)
    found = [_HEADER.fullmatch(line) for line in rest]
    headers = {match[1].lower(): match[2] for match in found if match}
    if asked is None or len(headers) != len(rest):  # not a header, or one twice
        raise RefusedError(HTTPStatus.BAD_REQUEST)
    return Request(asked[1], asked[2], headers)


def _check_host(request: Request) -> None:
    """Only an address or localhost: a name could be a stranger's, pointed here to read and act as this page."""
    host = request.headers.get("host", "")
    if _HOST.fullmatch(host) is None:
        raise RefusedError(HTTPStatus.MISDIRECTED_REQUEST, "this page has no name: use its address")
    if request.method == "POST" and request.headers.get("origin") != f"http://{host}":
        raise RefusedError(HTTPStatus.FORBIDDEN, "not from this page")


async def _read_body(reader: asyncio.StreamReader, request: Request) -> bytes:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    length = request.headers.get("content-length", "")
    if "transfer-encoding" in request.headers or re.fullmatch(r"[0-9]{1,9}", length) is None:
        raise RefusedError(HTTPStatus.LENGTH_REQUIRED)
    if int(length) > BODY_BYTES:
        raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return await reader.readexactly(int(length))


def _plain_object(body: bytes) -> dict[str, Any]:
    """A JSON object of texts and booleans; an act has nothing else."""
    given = json.loads(body)
    if not isinstance(given, dict):
        raise TypeError("not an object")
    for name, value in given.items():
        if type(value) is not (bool if name == "on" else str):
            raise TypeError(f"not a value for {name}")
    return given


def _head(status: HTTPStatus, headers: Mapping[str, str]) -> bytes:
    lines = [
        f"HTTP/1.1 {status} {status.phrase}",
        *(f"{name}: {value}" for name, value in {**HEADERS, **headers}.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode()


async def _write(
    writer: asyncio.StreamWriter, status: HTTPStatus, content: bytes, kind: str = "application/json"
) -> None:
    writer.write(_head(status, {"Content-Type": kind, "Content-Length": str(len(content))}) + content)
    async with asyncio.timeout(WRITE_SECONDS):
        await writer.drain()


def _event(name: str, data: str) -> bytes:
    return f"event: {name}\ndata: {data}\n\n".encode()
