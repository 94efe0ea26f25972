"""Many connections that say little: the administration still answers those who ask."""

import asyncio
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.types import ASGIApp, Message

from pickupbox import server
from pickupbox.admin import live, visit
from pickupbox.settings import Settings
from tests.admin.office import Office
from tests.admin.tabs import an_administration

MANY = 1_100  # more than Granian takes unless it is told otherwise
FILES = 2 * MANY + 500  # of this process
HALF_A_FORM = (
    b"POST /sign-in HTTP/1.1\r\nHost: admin.test\r\nOrigin: http://admin.test\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nemail=ada"
)
ROOM = """
import resource, sys
from pickupbox.server import room_for_connections
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
print(room_for_connections(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


@pytest.fixture(scope="module")
def served(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with an_administration(settings, tmp_path_factory.mktemp("admin")) as address:
        yield address


@pytest.fixture(scope="module", autouse=True)
def files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard == resource.RLIM_INFINITY or hard >= FILES, f"these tests need `ulimit -Hn` of {FILES}, not {hard}"
    if soft != resource.RLIM_INFINITY and soft < FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, hard))


@contextmanager
def connections(served: str, count: int, said: bytes) -> Iterator[list[socket.socket]]:
    """So many connections that each said so much and no more."""
    address = urlsplit(served)
    with ExitStack() as open_ones:
        made = []
        for _ in range(count):
            made.append(open_ones.enter_context(socket.create_connection((address.hostname, address.port), timeout=5)))
            made[-1].sendall(said)
        yield made


@pytest.mark.parametrize("said", [b"", b"GET /livez HTTP/1.1\r\nHost: adm", HALF_A_FORM], ids=["idle", "head", "form"])
def test_who_says_nothing_more_keeps_nobody_out(served: str, said: bytes) -> None:
    with connections(served, MANY, said):
        assert httpx.get(f"{served}/livez", timeout=5).status_code == 200


def test_there_is_room_for_more_connections_than_pages_may_watch() -> None:
    assert server.CONNECTIONS >= live.MOST_WATCHERS + 1_000


@pytest.mark.parametrize(("soft", "hard", "room"), [(1_024, 20_000, 8_192), (1_024, 2_000, 1_488), (256, 300, 1)])
def test_a_process_takes_as_many_connections_as_it_may_open_files(soft: int, hard: int, room: int) -> None:
    """In a process of its own, whose limits are not ours."""
    said = subprocess.run(
        [sys.executable, "-c", ROOM, str(soft), str(hard)], capture_output=True, check=True, text=True
    )
    assert said.stdout.split() == [str(room), str(min(hard, 8_704))]


async def a_form(app: ASGIApp, *parts: bytes, then: Message | None = None) -> int:
    """The status of an answer to a form that comes in these parts, then this or nothing."""
    coming = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    answered: list[Message] = []

    async def receive() -> Message:
        if coming:
            return coming.pop(0)
        if then is None:
            await asyncio.sleep(3600)
        return then or {}

    async def send(message: Message) -> None:
        answered.append(message)

    headers = {"host": "admin.test", "origin": "http://admin.test", "content-type": "application/x-www-form-urlencoded"}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/sign-in",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "state": {},
    }
    async with asyncio.timeout(5):
        await app(scope, receive, send)
    status: int = answered[0]["status"]
    return status


async def test_a_form_that_does_not_come_to_an_end_is_refused(pages: ASGIApp, monkeypatch: pytest.MonkeyPatch) -> None:
    assert visit.FORM_SECONDS <= 10
    monkeypatch.setattr(visit, "FORM_SECONDS", 0.2)
    assert await a_form(pages, b"email=ada", b"%40firm.test") == 403


async def test_a_form_is_as_large_as_ours_are_and_no_larger(office: Office, pages: ASGIApp) -> None:
    assert await a_form(pages, *[b"x" * 16_384] * 5) == 403
    long = await office.stranger().post("/sign-in", {"email": "x" * 60_000})
    assert long.status_code == 422
    too_long = await office.stranger().post("/sign-in", {"email": "x" * 70_000})
    assert too_long.status_code == 403


async def test_a_form_whose_sender_is_gone_is_no_error_of_ours(pages: ASGIApp) -> None:
    assert await a_form(pages, b"email=ada", then={"type": "http.disconnect"}) == 403
