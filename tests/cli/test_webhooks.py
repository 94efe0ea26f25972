"""`pickupbox webhook …`: what each command does, says and refuses."""

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from standardwebhooks import Webhook

from pickupbox.database import lanes
from pickupbox.database.lanes import Settled, Wish
from pickupbox.domain.lifecycle import Event
from pickupbox.settings import Settings
from pickupbox.usecases.core import open_core
from tests.cli.conftest import Query, Run

URL = "https://shop.example/hook"
COMMANDS = ("add", "list", "rotate", "disable", "enable", "test", "attempts", "replay", "remove")


@dataclass
class Hook:
    """A receiver that runs beside the command, which has a loop of its own."""

    url: str = ""
    status: int = 200
    answer: bytes = b""
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@pytest.fixture
def hook() -> Iterator[Hook]:
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hook.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(hook.status)
            self.send_header("Content-Length", str(len(hook.answer)))
            self.end_headers()
            self.wfile.write(hook.answer)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hook.url = f"http://127.0.0.1:{server.server_port}/hook"
        serving = threading.Thread(target=server.serve_forever, args=(0.05,))
        serving.start()
        yield hook
        server.shutdown()
        serving.join(5)


@pytest.fixture
def endpoint(run: Run, tenant: str) -> str:
    made = run("webhook", "add", "--tenant", tenant, "--url", URL, "--json")
    return str(json.loads(made.stdout)["id"])


def test_add_with_json_prints_exactly_id_and_secret(run: Run, tenant: str) -> None:
    done = run("webhook", "add", "--tenant", tenant, "--url", URL, "--json")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    made = json.loads(done.stdout)
    assert set(made) == {"id", "secret"}
    assert re.fullmatch(r"whe_c1_\w+", made["id"])
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", made["secret"])


def test_add_keeps_what_was_said_and_shows_the_secret_once(run: Run, tenant: str, query: Query) -> None:
    done = run("webhook", "add", "--tenant", tenant, "--url", URL, "--description", "till", "--type", "loaded",
               "--type", "fault")  # fmt: skip
    endpoint, secret = done.stdout.split()[:2]
    assert f"pickupbox webhook test {endpoint} --tenant {tenant}" in done.stdout
    assert query("SELECT url, description, event_types, enabled FROM webhook_endpoints WHERE id = $1", endpoint) == [
        (URL, "till", ["fault", "loaded"], True)
    ]
    listed = run("webhook", "list", "--tenant", tenant)
    (line,) = [line for line in listed.stdout.splitlines() if endpoint in line]
    assert URL in line
    assert "fault, loaded" in line
    assert "enabled" in line
    assert secret not in listed.output
    assert secret.removeprefix("whsec_") not in str(query("SELECT * FROM webhook_endpoints WHERE id = $1", endpoint))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--url", "http://shop.example/"), "must begin with https://"),
        (("--url", "https://10.0.0.1/"), "not one of the public internet"),
        (("--url", "https://localhost/"), "private network"),
        (("--url", URL, "--description", "x" * 161), "at most 160 characters"),
    ],
)
def test_an_endpoint_that_cannot_be_is_refused_with_the_reason(
    run: Run, tenant: str, options: tuple[str, ...], said: str
) -> None:
    done = run("webhook", "add", "--tenant", tenant, *options)
    assert (done.exit_code, done.stdout) == (1, "")
    assert said in done.stderr


def test_a_type_that_there_is_none_of_is_refused(run: Run, tenant: str) -> None:
    done = run("webhook", "add", "--tenant", tenant, "--url", URL, "--type", "teleported")
    assert done.exit_code == 2
    assert "teleported" in done.stderr


def test_a_sixth_endpoint_is_refused(run: Run, tenant: str) -> None:
    for _ in range(5):
        assert run("webhook", "add", "--tenant", tenant, "--url", URL).exit_code == 0
    done = run("webhook", "add", "--tenant", tenant, "--url", URL)
    assert done.exit_code == 1
    assert "has 5 endpoints already: remove one first" in done.stderr


def test_rotate_shows_a_new_secret_and_until_when_the_old_one_signs(run: Run, tenant: str, endpoint: str) -> None:
    first = run("webhook", "rotate", endpoint, "--tenant", tenant, "--json")
    assert set(json.loads(first.stdout)) == {"id", "secret"}
    second = run("webhook", "rotate", endpoint, "--tenant", tenant)
    assert re.match(r"whsec_\S{44}\n", second.stdout)
    assert second.stdout.split()[0] != json.loads(first.stdout)["secret"]
    assert "the old secret signs until" in run("webhook", "list", "--tenant", tenant).stdout


def test_disable_and_enable_with_what_was_missed_to_replay(run: Run, tenant: str, endpoint: str) -> None:
    assert run("webhook", "disable", endpoint, "--tenant", tenant).exit_code == 0
    assert re.search(r"disabled \d{4}-\d\d-\d\d \d\d:\d\d: by hand", run("webhook", "list", "--tenant", tenant).stdout)
    again = run("webhook", "disable", endpoint, "--tenant", tenant)
    assert again.exit_code == 1
    assert "no such enabled endpoint" in again.stderr
    enabled = run("webhook", "enable", endpoint, "--tenant", tenant)
    (command,) = re.findall(r"pickupbox (webhook replay .*)", enabled.stdout)
    assert run(*command.split()).exit_code == 0, "the command that it proposes works"
    assert run("webhook", "enable", endpoint, "--tenant", tenant).stdout == ""


def test_remove_is_for_good(run: Run, tenant: str, endpoint: str) -> None:
    assert run("webhook", "remove", endpoint, "--tenant", tenant).exit_code == 0
    assert endpoint not in run("webhook", "list", "--tenant", tenant).stdout
    assert run("webhook", "remove", endpoint, "--tenant", tenant).exit_code == 1


@pytest.mark.parametrize("event_type", [*Event])
def test_test_sends_a_signed_example_of_any_type(run: Run, tenant: str, hook: Hook, event_type: Event) -> None:
    loopback = {"PICKUPBOX_WEBHOOK_LOOPBACK": "true"}
    made = json.loads(run("webhook", "add", "--tenant", tenant, "--url", hook.url, "--json", **loopback).stdout)
    done = run("webhook", "test", made["id"], "--tenant", tenant, "--type", event_type, **loopback)
    assert done.exit_code == 0, done.output
    assert re.fullmatch(r"Accepted: 200 after \d+ ms\n", done.stdout)
    ((headers, body),) = hook.got
    Webhook(made["secret"]).verify(body, headers)
    assert json.loads(body)["type"] == event_type


def test_test_says_what_came_back_if_it_is_not_accepted(run: Run, tenant: str, hook: Hook) -> None:
    loopback = {"PICKUPBOX_WEBHOOK_LOOPBACK": "true"}
    made = json.loads(run("webhook", "add", "--tenant", tenant, "--url", hook.url, "--json", **loopback).stdout)
    hook.status, hook.answer = 500, b"no [red]thanks[/red] \x1b[2J\x07\x00\xff"
    done = run("webhook", "test", made["id"], "--tenant", tenant, **loopback)
    assert done.exit_code == 1
    assert re.search(r"Not accepted: 500 after \d+ ms", done.stderr)
    assert "[red]thanks[/red]" in done.stderr
    assert not set("\x1b\x07\x00") & set(done.stderr), "an answer must not steer the terminal"
    closed = run("webhook", "test", made["id"], "--tenant", tenant)
    assert closed.exit_code == 1
    assert "refused_address" in closed.stderr


def accept_all(settings: Settings, endpoint: str, outcome: str = "accepted") -> int:
    """Everything that is due is settled that way; how many."""

    async def settle() -> int:
        core = open_core(settings)
        count = 0
        async with core.db.connection() as connection:
            while claimed := await lanes.claim(connection, [Wish(endpoint, 100, probe=False)]):
                count += len(claimed)
                delay = None if outcome == "accepted" else 60.0
                settled = [Settled(c, outcome, delay, 500, None, 34, "[b]\x1b[31mno") for c in claimed]
                await lanes.settle_many(connection, settled)
        await core.db.close()
        return count

    return asyncio.run(settle())


def test_attempts_are_shown_with_what_came_back(
    run: Run, tenant: str, settings: Settings, endpoint: str, shipment: str
) -> None:
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    run("webhook", "replay", endpoint, "--tenant", tenant, "--since", today)
    assert accept_all(settings, endpoint, "failed") == 1
    shown = run("webhook", "attempts", endpoint, "--tenant", tenant)
    assert shown.exit_code == 0
    assert "attempt 1: 500 in 34 ms" in shown.stdout
    assert f"of {shipment}" in shown.stdout
    assert "[b]" in shown.stdout
    assert "\x1b[31mno" not in shown.stdout
    assert run("webhook", "attempts", endpoint, "--tenant", "ten_c1_other").stdout == ""
    assert run("webhook", "attempts", endpoint, "--tenant", tenant, "--limit", "0").exit_code == 2


def test_replay_of_one_event_and_of_all_since_a_time(
    run: Run, tenant: str, settings: Settings, query: Query, endpoint: str, shipment: str
) -> None:
    ((event_id,),) = query("SELECT id FROM events WHERE shipment_id = $1", shipment)
    one = run("webhook", "replay", endpoint, "--tenant", tenant, "--event", event_id)
    assert (one.exit_code, one.stdout) == (0, "On its way.\n")
    assert accept_all(settings, endpoint) == 1
    for since in ("2024-01-01", "2024-01-01T10:00Z", "2024-01-01T10:00:00Z"):
        done = run("webhook", "replay", endpoint, "--tenant", tenant, "--since", since)
        assert (done.exit_code, done.stdout) == (0, "1 events are on their way.\n"), done.output
        assert accept_all(settings, endpoint) == 1
    none = run("webhook", "replay", endpoint, "--tenant", tenant, "--since", "2099-01-01")
    assert none.stdout == "0 events are on their way.\n"


def test_replay_wants_one_thing_and_says_what_is_missing(run: Run, tenant: str, endpoint: str) -> None:
    both = ("--event", "evt_c1_x", "--since", "2024-01-01")
    for options in ((), both):
        done = run("webhook", "replay", endpoint, "--tenant", tenant, *options)
        assert done.exit_code == 1
        assert "either --event or --since" in done.stderr
    missing = run("webhook", "replay", endpoint, "--tenant", tenant, "--event", "evt_c1_none")
    assert (missing.exit_code, missing.stderr) == (1, "The tenant has no such event.\n")
    assert run("webhook", "replay", endpoint, "--tenant", tenant, "--since", "yesterday").exit_code == 2


@pytest.mark.parametrize("command", ["rotate", "disable", "enable", "test", "remove", "replay"])
def test_an_endpoint_of_another_tenant_is_as_if_it_were_not_there(
    run: Run, tenant: str, query: Query, endpoint: str, command: str
) -> None:
    other = run("tenant", "add", "Other").stdout.split()[0]
    before = query("SELECT * FROM webhook_endpoints WHERE id = $1", endpoint)
    options = ("--since", "2024-01-01") if command == "replay" else ()
    for whose, which in ((other, endpoint), (tenant, "whe_c1_none")):
        done = run("webhook", command, which, "--tenant", whose, *options)
        assert (done.exit_code, done.stdout) == (1, "")
        assert "no such" in done.stderr
    assert query("SELECT * FROM webhook_endpoints WHERE id = $1", endpoint) == before


def test_webhooks_of_a_tenant_that_there_is_none_of_are_refused(run: Run) -> None:
    done = run("webhook", "add", "--tenant", "ten_c1_none", "--url", URL)
    assert done.exit_code == 1
    assert "no such tenant" in done.stderr


@pytest.mark.parametrize("columns", ["80", "200"])
def test_the_list_shows_ids_whole_however_narrow_the_terminal(
    run: Run, tenant: str, endpoint: str, columns: str
) -> None:
    assert endpoint in run("webhook", "list", "--tenant", tenant, COLUMNS=columns).stdout


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_webhook_command_explains_itself(run: Run, command: str) -> None:
    shown = run("webhook", *([command] if command else []), "--help")
    assert shown.exit_code == 0
    assert "Usage" in shown.stdout
    if not command:
        assert all(one in shown.stdout for one in COMMANDS)
