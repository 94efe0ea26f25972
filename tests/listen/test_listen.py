"""`pickupbox listen`: what it prints, what it forwards, where it goes on, and what it says when something is wrong."""

import asyncio
import json
import re
import stat
import subprocess

import pytest
from click.testing import Result
from pickupbox_sdk import webhooks
from standardwebhooks import Webhook
from typer.testing import CliRunner

from pickupbox.cli import app
from pickupbox.webhooks.signing import key_of
from tests.listen.desk import COMMAND, SECONDS, Desk, Listener, Server, network_to, serving, within
from tests.support.processes import free_port
from tests.support.shop import Shop

BEGINS = "Begins now."
GOES_ON = "Goes on where it stopped"


def secret_of(listener: Listener) -> str:
    found = re.findall(r"^ *export WEBHOOK_SECRET=(\S+)$", listener.said(), re.MULTILINE)
    assert len(set(found)) == 1
    return str(found[0])


async def run(desk: Desk, *arguments: str, **variables: str) -> Result:
    """A command that is refused before it begins; in a thread, since it runs a loop of its own."""
    return await asyncio.to_thread(CliRunner().invoke, app, arguments, env=desk.variables | variables)


async def forwarded(server: Server, count: int) -> list[tuple[str, str]]:
    await within(lambda: len(server.got) >= count, lambda: f"{count} expected: {server.told()}")
    return server.told()


async def test_an_event_is_one_line_with_all_that_one_wants_to_see(desk: Desk, server: Server, shop: Shop) -> None:
    listener = desk.listen("--forward-to", server.url)
    await listener.says(BEGINS)
    shipment = await shop.reserved("order-1042")
    (line,) = await listener.prints(1)
    answered = r"200 in \d+ ms"
    assert re.fullmatch(rf"\d\d:\d\d:\d\d  reserved +order-1042 +{shipment}  Test box \w+ +{answered}", line)
    assert await listener.interrupt() == 0
    assert "1 event, 1 accepted, 0 given up" in listener.said()


async def test_without_a_server_it_only_prints(desk: Desk, shop: Shop) -> None:
    listener = desk.listen("--json")
    await listener.says(BEGINS)
    shipment = await shop.reserved("A")
    await shop.cancel(shipment)
    await listener.prints(3)
    assert [line["event"]["type"] for line in listener.events()] == ["reserved", "cancelled", "door_available"]
    assert [line["forwarded"] for line in listener.events()] == [None] * 3
    assert "WEBHOOK_SECRET" not in listener.said()
    assert await listener.interrupt() == 0


async def test_what_is_forwarded_is_the_very_webhook(desk: Desk, server: Server, shop: Shop) -> None:
    listener = desk.listen("--forward-to", server.url.replace("127.0.0.1", "localhost"))
    await listener.says(BEGINS)
    await shop.reserved('order "é" / 📦 \\ \t')
    await forwarded(server, 1)
    ((headers, body),) = server.got
    secret = secret_of(listener)
    assert Webhook(secret).verify(body, headers)["type"] == "reserved"
    event = webhooks.verify(body, headers, secret)
    assert event.data.external_order_id == 'order "é" / 📦 \\ \t'
    assert headers["Content-Type"] == "application/json"
    assert headers["User-Agent"].startswith("pickupbox/")
    assert {"Service-Event-Id", "webhook-id"} <= set(headers)
    async with shop.core.db.connection() as connection:
        data = await connection.fetchval("SELECT data FROM events WHERE id = $1", event.id)
    assert data.encode() in body, "not the bytes that the worker would send"


async def test_its_secret_is_the_same_at_every_start_and_nobody_elses(
    desk: Desk, server: Server, other_shop: Shop
) -> None:
    first = desk.listen("--forward-to", server.url)
    await first.says(BEGINS)
    await first.interrupt()
    again = desk.listen("--forward-to", server.url)
    elsewhere = desk.listen("--forward-to", server.url, API_KEY=other_shop.api_key)
    await again.says(GOES_ON)
    await elsewhere.says(BEGINS)
    assert secret_of(first) == secret_of(again) == secret_of(elsewhere)
    assert len(key_of(secret_of(first))) == 32
    kept = desk.folder / "pickupbox" / "listen"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    files = [path for path in kept.iterdir() if path.suffix != ".lock"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert sorted(path.name for path in files)[-1] == "secret"


async def test_started_again_it_goes_on_where_it_stopped(desk: Desk, server: Server, shop: Shop) -> None:
    await shop.reserved("before")
    first = desk.listen("--forward-to", server.url)
    await first.says(BEGINS)
    await shop.reserved("while it runs")
    await forwarded(server, 1)
    await first.interrupt()
    await shop.reserved("meanwhile")
    second = desk.listen("--forward-to", server.url)
    assert await forwarded(server, 2) == [("reserved", "while it runs"), ("reserved", "meanwhile")]
    await second.interrupt()
    await shop.reserved("skipped")
    third = desk.listen("--forward-to", server.url, "--from-now")
    await third.says(BEGINS)
    await shop.reserved("last")
    assert (await forwarded(server, 3))[2:] == [("reserved", "last")]


async def test_a_shop_that_had_no_event_yet_misses_none(desk: Desk, server: Server, shop: Shop) -> None:
    first = desk.listen("--forward-to", server.url)
    await first.says(BEGINS)
    await first.interrupt()
    await shop.reserved("meanwhile")
    desk.listen("--forward-to", server.url)
    assert await forwarded(server, 1) == [("reserved", "meanwhile")]


async def test_it_begins_where_it_is_told_to(desk: Desk, shop: Shop) -> None:
    for order in ("A", "B", "C"):
        await shop.reserved(order)
    oldest = desk.listen("--from-start", "--json")
    await oldest.prints(3)
    await oldest.interrupt()
    events = [line["event"] for line in oldest.events()]
    assert [event["data"]["external_order_id"] for event in events] == ["A", "B", "C"]
    later = desk.listen("--after", events[0]["id"], "--json")
    await later.prints(2)
    assert [line["event"] for line in later.events()] == events[1:]
    await later.interrupt()
    nowhere = await run(desk, "listen", "--after", "evt_nowhere")
    assert (nowhere.exit_code, "knows no event evt_nowhere" in nowhere.stderr) == (2, True)
    both = await run(desk, "listen", "--from-now", "--from-start")
    assert (both.exit_code, "one of --after, --from-start and --from-now" in both.stderr) == (2, True)


async def test_only_the_types_that_are_asked_for(desk: Desk, server: Server, shop: Shop) -> None:
    listener = desk.listen("--forward-to", server.url, "--type", "cancelled", "--type", "fault")
    await listener.says(BEGINS)
    await shop.cancel(await shop.reserved("A"))
    await shop.reserved("B", "fault")
    assert await forwarded(server, 2) == [("cancelled", "A"), ("fault", "B")]
    await listener.interrupt()
    assert "2 events, 2 accepted" in listener.said()
    assert len(listener.lines()) == 2


async def test_while_the_server_is_down_everything_waits_for_it(desk: Desk, shop: Shop) -> None:
    port = free_port()
    listener = desk.listen("--forward-to", f"http://127.0.0.1:{port}/hook")
    await listener.says(BEGINS)
    await shop.cancel(await shop.reserved("A"))
    await listener.says("Nobody answers at")
    assert listener.lines() == []
    with serving(port) as server:
        assert await forwarded(server, 3) == [("reserved", "A"), ("cancelled", "A"), ("door_available", "A")]
        await listener.prints(3)
    await shop.reserved("B")
    await listener.says("Nobody answers at", times=2)
    with serving(port) as server:
        assert await forwarded(server, 1) == [("reserved", "B")]
    assert await listener.interrupt() == 0


async def test_one_that_is_refused_is_tried_again_and_only_its_shipment_waits(
    desk: Desk, server: Server, shop: Shop
) -> None:
    refusals = iter([500, 503])
    server.status = lambda event: next(refusals, 200) if event["data"]["external_order_id"] == "bad" else 200
    listener = desk.listen("--forward-to", server.url)
    await listener.says(BEGINS)
    await shop.cancel(await shop.reserved("bad"))
    await shop.reserved("good")
    assert await forwarded(server, 6) == [
        ("reserved", "bad"),
        ("reserved", "good"),
        ("reserved", "bad"),
        ("reserved", "bad"),
        ("cancelled", "bad"),
        ("door_available", "bad"),
    ]
    lines = await listener.prints(6)
    assert re.search(r"500 in \d+ ms, again in 1 s$", lines[0])
    assert re.search(r"503 in \d+ ms, again in 2 s$", lines[2])
    assert re.search(r"200 in \d+ ms, at attempt 3$", lines[3])
    stamps = [int(headers["Service-Timestamp"]) for headers, _ in server.got]
    assert stamps[3] > stamps[0], "each attempt has its own time"


async def test_one_that_is_always_refused_is_given_up_and_can_be_had_again(
    desk: Desk, server: Server, shop: Shop
) -> None:
    server.status = lambda event: 500 if event["type"] == "cancelled" else 200
    listener = desk.listen("--forward-to", server.url)
    await listener.says(BEGINS)
    await shop.cancel(await shop.reserved("A"))
    lines = await listener.prints(6)
    assert [kind for kind, _ in server.told()] == ["reserved", *["cancelled"] * 4, "door_available"]
    given_up = re.search(r"500 in \d+ ms, given up after 4 attempts\. .* pickupbox listen (--after \S+) …$", lines[4])
    assert given_up
    await listener.interrupt()
    assert "3 events, 2 accepted, 1 given up" in listener.said()
    server.status = lambda _: 200
    desk.listen("--forward-to", server.url, *given_up[1].split())
    assert [kind for kind, _ in (await forwarded(server, 8))[6:]] == ["cancelled", "door_available"]


async def test_what_was_under_way_when_it_was_killed_comes_again(desk: Desk, server: Server, shop: Shop) -> None:
    entered, leave = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def hold(_: object) -> int:
        loop.call_soon_threadsafe(entered.set)
        asyncio.run_coroutine_threadsafe(leave.wait(), loop).result(SECONDS)
        return 200

    server.status = hold
    first = desk.listen("--forward-to", server.url)
    await first.says(BEGINS)
    await shop.reserved("A")
    async with asyncio.timeout(SECONDS):
        await entered.wait()
    first.kill()
    leave.set()
    desk.listen("--forward-to", server.url)
    assert await forwarded(server, 2) == [("reserved", "A")] * 2


async def test_it_waits_for_a_sandbox_that_is_away_and_says_so(desk: Desk, server: Server, shop: Shop) -> None:
    port = int(desk.base_url.rsplit(":", 1)[1].removesuffix("/v1"))
    async with network_to(port) as (network, entrance):
        desk.base_url = f"http://127.0.0.1:{entrance}/v1"
        listener = desk.listen("--forward-to", server.url)
        await listener.says(BEGINS)
        network.target = free_port()
        network.cut()
        await shop.reserved("A")
        await listener.says("The sandbox does not answer")
        network.target = port
        assert await forwarded(server, 1) == [("reserved", "A")]
        assert "The sandbox answers again." in listener.said()


async def test_two_that_would_do_the_same_are_one_too_many(desk: Desk, server: Server) -> None:
    first = desk.listen("--forward-to", server.url)
    await first.says(BEGINS)
    second = desk.listen("--forward-to", server.url)
    assert await second.ended() == 1
    assert f"already forwards this tenant's events to {server.url}" in second.said()
    beside = desk.listen()
    await beside.says(BEGINS)


@pytest.mark.parametrize(
    ("variables", "code", "said"),
    [
        ({"API_KEY": "pbx_test_c1_wrong"}, 2, "does not know this API key"),
        ({"API_KEY": "pbx_live_c1_x"}, 2, "key of production"),
        ({"API_KEY": ""}, 2, "API_KEY is not set. Paste the `export` lines"),
        ({"BASE_URL": ""}, 2, "BASE_URL is not set"),
        ({"BASE_URL": "127.0.0.1:8080"}, 2, "base_url is the address of an environment"),
        ({"BASE_URL": "http://127.0.0.1:1/v1"}, 1, "Nothing answers at http://127.0.0.1:1/v1"),
    ],
    ids=["unknown key", "production", "no key", "no address", "no URL", "nobody there"],
)
async def test_what_is_wrong_is_said_with_the_cure(desk: Desk, variables: dict[str, str], code: int, said: str) -> None:
    for command in (["listen"], ["trigger", "reserved"]):
        done = await run(desk, *command, **variables)
        assert (done.exit_code, done.stdout) == (code, "")
        assert isinstance(done.exception, SystemExit), "a traceback instead of a sentence"
        assert said in done.stderr
        assert "--base-url" in done.stderr or "pbx_test_" in done.stderr, "no cure"


async def test_a_key_that_is_revoked_meanwhile_ends_it_with_the_cure(desk: Desk, shop: Shop) -> None:
    listener = desk.listen()
    await listener.says(BEGINS)
    async with shop.core.db.connection() as connection:
        await connection.execute("UPDATE api_keys SET revoked_at = now() WHERE id = $1", shop.key_id)
    assert await listener.ended() == 2
    assert "does not know this API key" in listener.said()
    assert "0 events" in listener.said()


async def test_an_address_that_webhooks_cannot_go_to_is_refused_at_once(desk: Desk) -> None:
    for url in ("http://192.168.1.2/", "ftp://localhost/", "localhost:8000"):
        done = await run(desk, "listen", "--forward-to", url)
        assert (done.exit_code, "http://localhost:PORT" in done.stderr) == (2, True)


async def test_who_reads_it_may_leave(desk: Desk, shop: Shop) -> None:
    await shop.cancel(await shop.reserved("A"))
    piped = f"{' '.join(COMMAND)} listen --from-start --json | head -n 1"
    done = await asyncio.to_thread(
        subprocess.run, ["sh", "-c", piped], env=desk.variables, capture_output=True, text=True, timeout=SECONDS
    )
    assert json.loads(done.stdout)["event"]["type"] == "reserved"
    assert "Traceback" not in done.stderr
