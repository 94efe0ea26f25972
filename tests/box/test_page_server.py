"""The page's server: who is let in, what is refused, and that nothing is without a bound."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
import pytest_asyncio

from pickupbox.box.page import server
from pickupbox.box.page.server import FILES, STATIC, read_address
from tests.box.playing import Page, a_page, script
from tests.box.street import Broker, a_service, new_device
from tests.support.processes import free_port
from tests.support.waiting import until

KILOBYTES = 100
NO_REQUESTS = [
    (400, b"\x16\x03\x01\x02\x00\r\n\r\n"),
    (400, b"GET  / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (400, b"GET / HTTP/2\r\nHost: localhost\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"),
    (400, b"GET / HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n"),
    (400, b"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (404, b"GET /../play.py HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (404, b"GET /page.css?x HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (405, b"PUT /act HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (405, b"GET /act HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (431, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 9000),
]
NO_ACTS = [
    b"",
    b"[]",
    b"7",
    b"\xff",
    b"[" * 512,
    b"{}",
    b'{"act":"sing"}',
    b'{"act":["press"]}',
    b'{"act":"press"}',
    b'{"act":"press","keys":""}',
    b'{"act":"press","keys":"12345678901234567"}',
    b'{"act":"press","keys":123456}',
    b'{"act":"press","keys":"1","self":"x"}',
    b'{"act":"jam","door":"A1"}',
    b'{"act":"jam","door":"A1","on":"yes"}',
    b'{"act":"power","on":1}',
    b'{"act":"close","door":null}',
]


@pytest_asyncio.fixture
async def page(broker: Broker, tmp_path: Path) -> AsyncIterator[Page]:
    async with a_page(broker, tmp_path) as page:
        yield page


async def answer_to(page: Page, request: bytes) -> tuple[int, bytes]:
    """What comes back for these bytes, until the server hangs up."""
    host, port = page.url.removeprefix("http://").rstrip("/").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request)
        async with asyncio.timeout(10):
            answer = await reader.read()
    except ConnectionError:
        answer = b""
    finally:
        writer.close()
    return int(answer.split()[1]) if answer else 0, answer


def post(page: Page, body: bytes = b'{"act":"lose","on":true}', **headers: str) -> bytes:
    host = page.url.removeprefix("http://").rstrip("/")
    given = {
        "Host": host,
        "Origin": f"http://{host}",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    lines = [f"{name}: {value}" for name, value in given.items() if value]
    return "\r\n".join(["POST /act HTTP/1.1", *lines, "", ""]).encode() + body


async def test_the_files_are_served_with_a_policy_and_kept_by_nobody(page: Page) -> None:
    for path in FILES:
        answer = await page.client.get(path)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy


def test_the_whole_page_is_small() -> None:
    assert sum(path.stat().st_size for path in STATIC.iterdir()) < KILOBYTES * 1000
    assert {path.name for path in STATIC.iterdir()} == {name for name, _ in FILES.values()}


def test_the_page_needs_nothing_from_elsewhere_and_nothing_inline() -> None:
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.extend(name for name, _ in attrs if name == "style" or name.startswith("on"))
            found.extend(tag for _ in range(tag == "style" or (tag == "script" and "src" not in dict(attrs))))

    Reader().feed((STATIC / "page.html").read_text())
    assert found == []
    for path in STATIC.iterdir():
        addresses = re.findall(r"(?:https?:)?//[a-z][^\s\"']*", re.sub(r"(?m)^\s*//.*| // .*", "", path.read_text()))
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}


async def test_an_act_is_taken_from_the_page_itself_alone(page: Page) -> None:
    port = page.url.rstrip("/").rpartition(":")[2]
    for status, headers in (
        (403, {"Origin": ""}),
        (403, {"Origin": "null"}),
        (403, {"Origin": "http://evil.example"}),
        (403, {"Origin": f"http://localhost:{port}"}),  # another page of this machine
        (403, {"Origin": f"https://127.0.0.1:{port}"}),
        (421, {"Host": f"evil.example:{port}", "Origin": f"http://evil.example:{port}"}),  # a name pointed at us
        (421, {"Host": f"localhost.evil.example:{port}"}),
        (421, {"Host": ""}),
        (415, {"Content_Type": "text/plain"}),
        (415, {"Content_Type": "application/x-www-form-urlencoded"}),
        (411, {"Content_Length": ""}),
        (411, {"Transfer_Encoding": "chunked"}),
        (411, {"Content_Length": "-1"}),
        (413, {"Content_Length": "513"}),
    ):
        assert (await answer_to(page, post(page, **headers)))[0] == status, headers
    assert not page.play.state()["loses"]
    assert (await answer_to(page, post(page)))[0] == 200
    assert page.play.state()["loses"]


async def test_no_stream_goes_to_a_foreign_name(page: Page) -> None:
    status, answer = await answer_to(page, b"GET /events HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    assert status == 421
    assert b"dev_" not in answer


async def test_what_is_no_request_is_refused(page: Page) -> None:
    for status, request in NO_REQUESTS:
        assert (await answer_to(page, request))[0] == status, request
    assert (await page.client.get("/")).status_code == 200


async def test_what_is_no_act_is_refused(page: Page) -> None:
    for body in NO_ACTS:
        status, answer = await answer_to(page, post(page, body))
        assert (status, answer.split(b"\r\n\r\n")[1]) == (400, b'{"refused": "not an act"}'), body
    assert page.play.driver.jammed == set()


async def test_who_says_nothing_is_not_waited_for(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.2)
    assert await answer_to(page, b"GET / HTTP/1.1\r\n") == (0, b"")
    assert await answer_to(page, post(page)[:-1]) == (0, b"")


async def stream_status(page: Page) -> int:
    async with page.client.stream("GET", "/events") as stream:
        return stream.status_code


async def test_only_some_may_look_and_few_may_knock(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "STREAMS", 1)  # the one of the fixture
    assert await stream_status(page) == 503
    monkeypatch.setattr(server, "CONNECTIONS", 1)
    assert await answer_to(page, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") == (0, b"")


async def test_a_stream_that_was_left_makes_room(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "STREAMS", 2)
    async with page.client.stream("GET", "/events") as second:
        assert second.status_code == 200
        assert await stream_status(page) == 503
    async with asyncio.timeout(10):
        while await stream_status(page) != 200:
            pass


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8090", ("127.0.0.1", 8090)),
        ("10.0.0.7:8090", ("10.0.0.7", 8090)),
        ("[::1]:80", ("::1", 80)),
        ("localhost:1", ("localhost", 1)),
    ],
)
def test_an_address_is_a_port_or_an_address_with_one(text: str, address: tuple[str, int]) -> None:
    assert read_address(text) == address


@pytest.mark.parametrize("text", ["", "x", "65536", "evil.example:80", ":80", "-1", "80 ", "\N{FULLWIDTH DIGIT ONE}"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^not a port"):
        read_address(text)


def run_box(page: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {f"PICKUPBOX_BOX_{name}": value for name, value in environment.items()}
    return subprocess.run(
        [sys.executable, "-m", "pickupbox.box", "run", "--page", page],
        env=os.environ | {"PICKUPBOX_BOX_DEVICE": new_device(), "PICKUPBOX_BOX_COMPARTMENTS": "A1,A2"} | given,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_real_doors_are_not_played_with(tmp_path: Path) -> None:
    ended = run_box("0", DRIVER="cu16", JOURNAL=str(tmp_path / "journal"))
    assert ended.returncode == 2
    assert ended.stderr == "--page plays with virtual doors, and PICKUPBOX_BOX_DRIVER is cu16\n"


async def test_the_program_ends_against_production_and_says_why(broker: Broker, tmp_path: Path) -> None:
    device = new_device()
    async with a_service(broker, device) as service:
        script(service, "production")
        url = f"mqtt://127.0.0.1:{broker.port}"
        ended = await asyncio.to_thread(
            run_box, str(free_port()), DEVICE=device, MQTT_URL=url, JOURNAL=str(tmp_path / "journal")
        )
        assert ended.returncode == 2
        last = ended.stderr.splitlines()[-1]
        assert last == "--page: the service is production: the page of a virtual box is for a sandbox only"


async def test_a_port_that_is_taken_is_named(page: Page, broker: Broker, tmp_path: Path) -> None:
    port = page.url.rstrip("/").rpartition(":")[2]
    url = f"mqtt://127.0.0.1:{broker.port}"
    ended = await asyncio.to_thread(run_box, port, MQTT_URL=url, JOURNAL=str(tmp_path / "other"))
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].startswith("--page: ")
    assert "address already in use" in ended.stderr


async def test_state_and_messages_are_plain_json(page: Page) -> None:
    await until(lambda: page.lines)
    assert json.loads(json.dumps(page.state)) == page.state
    assert {door["code"] for door in page.state["doors"]} == {"A1", "A2", "A3"}
