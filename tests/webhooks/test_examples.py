"""The examples of docs/webhooks.md do what the page says: each accepts real events and refuses everything else."""

import asyncio
import json
import re
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from typer.main import get_command

from pickupbox.api.app import make_app
from pickupbox.cli.webhooks import webhook_app
from pickupbox.settings import Settings
from pickupbox.usecases.core import open_core
from pickupbox.webhooks.signing import key_of, new_secret, signed_headers
from tests.api.contract import WEBHOOK_EVENTS, breaches
from tests.support.databases import environment_of, own_database
from tests.support.processes import Process, free_port
from tests.support.shop import Shop, open_shop
from tests.webhooks.examples import BLOCKS, PAGE, RECEIVERS, Receiver, command, running

SECRET = new_secret(bytes(range(32)))
NEXT_SECRET = new_secret(bytes(range(1, 33)))
EVENT = json.loads(BLOCKS["body"][1])
BODY = json.dumps(EVENT, ensure_ascii=False).encode()
LINE = f"{EVENT['type']} {EVENT['data']['shipment_id']}"

# An example reads the ones or the others.
SAME = (
    ("Service-Event-Id", "webhook-id"),
    TIMESTAMPS := ("Service-Timestamp", "webhook-timestamp"),
    SIGNATURES := ("Service-Signature", "webhook-signature"),
)


@pytest_asyncio.fixture(scope="module", params=RECEIVERS)
async def receiver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Receiver]:
    """Each example in turn, with SECRET."""
    async with running(request.param, tmp_path_factory.mktemp("example"), SECRET) as receiver:
        yield receiver


def signed(*secrets: str, age: int = 0) -> dict[str, str]:
    return signed_headers([key_of(secret) for secret in secrets], EVENT["id"], int(time.time()) - age, BODY)


async def answer(receiver: Receiver, headers: dict[str, str], body: bytes = BODY) -> int:
    raw = {name: value.encode("latin-1") for name, value in headers.items()}
    async with httpx.AsyncClient(trust_env=False, timeout=15) as client:
        response = await client.post(receiver.url, headers=raw, content=body)
    return response.status_code


async def accepts(receiver: Receiver) -> bool:
    """Whether it takes a good event, and whether that is the next thing that it prints."""
    return await answer(receiver, signed(SECRET)) == 200 and await receiver.line() == LINE


def test_the_page_has_the_five_receivers() -> None:
    assert RECEIVERS == ["python-sdk", "python-standardwebhooks", "python", "node", "php"]


def test_the_receiver_of_the_readme_is_the_one_of_the_page() -> None:
    assert (Path(__file__).parents[2] / "examples" / "receiver.py").read_text() == BLOCKS["python"][1]


async def test_a_changed_byte_is_refused(receiver: Receiver) -> None:
    headers = signed(SECRET)
    for at in (0, len(BODY) // 2, len(BODY) - 1):
        body = BODY[:at] + bytes([BODY[at] ^ 1]) + BODY[at + 1 :]
        assert await answer(receiver, headers, body) == 400
    for names in SAME:
        value = headers[names[0]]
        last = "0" if value[-1] != "0" else "1"
        assert await answer(receiver, headers | dict.fromkeys(names, value[:-1] + last)) == 400
    assert await accepts(receiver)


@pytest.mark.parametrize("age", [310, 86_400, -310])
async def test_an_old_timestamp_and_one_of_the_future_are_refused(receiver: Receiver, age: int) -> None:
    assert await answer(receiver, signed(SECRET, age=age)) == 400
    assert await accepts(receiver)


async def test_a_wrong_secret_is_refused(receiver: Receiver) -> None:
    assert await answer(receiver, signed(NEXT_SECRET)) == 400
    assert await accepts(receiver)


async def test_no_signature_and_nonsense_are_refused(receiver: Receiver) -> None:
    headers = signed(SECRET)
    assert await answer(receiver, {}) == 400
    for signature in ("", "v1", "v1,", "v1,=", "v1,a,b", "v1,é", "v2" + headers["Service-Signature"][2:]):
        assert await answer(receiver, headers | dict.fromkeys(SIGNATURES, signature)) == 400, signature
    for sent_at in ("", "soon", "1e3", "²"):
        assert await answer(receiver, headers | dict.fromkeys(TIMESTAMPS, sent_at)) == 400, sent_at
    assert await accepts(receiver)


async def test_either_secret_of_a_rotation_is_accepted(receiver: Receiver) -> None:
    for secrets in ((NEXT_SECRET, SECRET), (SECRET, NEXT_SECRET)):
        assert await answer(receiver, signed(*secrets)) == 200
        assert await receiver.line() == LINE


async def test_a_request_that_is_cut_off_does_not_end_the_receiver(receiver: Receiver) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(receiver.url).port)
    writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\n{")
    await writer.drain()
    writer.transport.abort()
    assert await accepts(receiver)
    assert receiver.process.returncode is None


@pytest.mark.parametrize("name", RECEIVERS)
async def test_the_events_of_a_shipment_arrive_in_order(
    name: str, service: Settings, served_shop: Shop, tmp_path: Path
) -> None:
    port = free_port()
    secret = await add_endpoint(service, served_shop.tenant, f"http://127.0.0.1:{port}/")
    async with running(name, tmp_path, secret, port) as receiver:
        shipment_id = await served_shop.reserved()
        await served_shop.cancel(shipment_id)
        lines = [await receiver.line() for _ in range(3)]
    assert lines == [f"{type_} {shipment_id}" for type_ in ("reserved", "cancelled", "door_available")]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A database of its own, with a worker that delivers."""
    with own_database() as made:
        settings = made.model_copy(update={"webhook_loopback": True})
        worker = Process(["worker"], environment_of(settings), tmp_path_factory.mktemp("worker") / "log")
        try:
            yield settings
        finally:
            worker.stop()


@pytest_asyncio.fixture
async def served_shop(service: Settings) -> AsyncIterator[Shop]:
    core = open_core(service)
    shop = await open_shop(core, make_app(core, "memory://"))
    async with shop.http:
        yield shop
    await core.db.close()


async def add_endpoint(settings: Settings, tenant: str, url: str) -> str:
    """Its secret, as the page's first command prints it."""
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "pickupbox", "webhook", "add", "--tenant", tenant, "--url", url, "--json"],
        env=environment_of(settings),
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        printed, _ = await process.communicate()
    assert process.returncode == 0
    secret: str = json.loads(printed)["secret"]
    return secret


@pytest.mark.parametrize("name", ["node", "php"])
def test_a_missing_program_is_a_failure_that_says_what_to_do(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AssertionError, match=rf"`{name}` is not installed.*\.ci/services"):
        command(name, tmp_path / "receiver", 1)


def test_the_body_on_the_page_is_one_of_the_contract() -> None:
    assert breaches(EVENT, "PublicWebhookEvent") == []


def test_the_page_explains_every_field_and_every_type() -> None:
    explained = re.findall(r"`([a-z_.]+)`", "".join(re.findall(r"^\| (`[^|]+) \|", PAGE, re.MULTILINE)))
    assert {f"data.{field}" for field in EVENT["data"]} | {"api_version", "id", "type", "occurred_at"} <= set(explained)
    assert set(WEBHOOK_EVENTS) <= set(explained)


def test_the_signature_on_the_page_is_right() -> None:
    rows = re.findall(r"^\| \*{0,2}(secret|id|timestamp|body|signature)\*{0,2} \| `(.+)` \|$", PAGE, re.MULTILINE)
    shown = dict(rows)
    headers = signed_headers([key_of(shown["secret"])], shown["id"], int(shown["timestamp"]), shown["body"].encode())
    assert headers["Service-Signature"] == shown["signature"]


def test_the_commands_on_the_page_are_those_of_the_command_line() -> None:
    commands = get_command(webhook_app).commands
    options = {name: {option for one in command.params for option in one.opts} for name, command in commands.items()}
    rows = re.findall(r"^\| `([a-z]+)((?: [^`|]+)?)` \| [^|\s]", PAGE.split("## Commands")[1], re.MULTILINE)
    assert {name for name, _ in rows} == set(commands)
    lines = rows + re.findall(r"pickupbox webhook ([a-z]+) ([^`\n]*)", PAGE)
    assert len(lines) > len(rows) + 4
    for name, rest in lines:
        assert set(re.findall(r"--[a-z]+", rest)) <= options[name], name
        assert "--tenant" in options[name]


def test_the_schedule_on_the_page_is_that_of_the_settings() -> None:
    units = {"s": 1, "min": 60, "h": 3600}
    (row,) = re.findall(r"^\| after \| at once \| (.+) \|$", PAGE, re.MULTILINE)
    waits = [int(number) * units[unit] for number, unit in (wait.split() for wait in row.split(" | "))]
    assert ",".join(str(seconds) for seconds in (0, *waits)) == Settings.model_fields["webhook_schedule"].default
