"""`pickupbox fleet`: a small street against a real sandbox, as a process of its own."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from pickupbox.settings import Settings
from pickupbox.usecases.check import check
from pickupbox.usecases.core import open_core
from tests.fleet.conftest import Sandbox
from tests.support.databases import environment_of
from tests.support.processes import free_port

SECONDS = 200
ENDS_SECONDS = 10


def command(sandbox: Sandbox, *options: str) -> list[str]:
    return [sys.executable, "-m", "pickupbox", "fleet", "--base-url", sandbox.base_url, *options]


def play(sandbox: Sandbox, *options: str, **changed: str) -> subprocess.CompletedProcess[str]:
    environment = environment_of(sandbox.settings) | changed
    return subprocess.run(
        command(sandbox, *options), env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def ask(settings: Settings, query: str, *values: object) -> list[Any]:
    async def fetch() -> list[Any]:
        connection = await asyncpg.connect(settings.database_url)
        try:
            return [tuple(row.values()) for row in await connection.fetch(query, *values)]
        finally:
            await connection.close()

    return asyncio.run(fetch())


def breaches(settings: Settings) -> list[list[str]]:
    async def find() -> list[list[str]]:
        core = open_core(settings)
        try:
            return [finding.breaches for finding in await check(core) if finding.breaches]
        finally:
            await core.db.close()

    return asyncio.run(find())


@pytest.mark.slow
def test_every_shipment_of_a_street_with_faults_ends_as_it_should(sandbox: Sandbox) -> None:
    ((began,),) = ask(sandbox.settings, "SELECT now()")
    played = play(sandbox, "--boxes", "3", "--rate", "3", "--seconds", "6", "--faults", "0.4", "--json")
    assert played.returncode == 0, played.stderr
    told = json.loads(played.stdout)
    ended = told["collected"] + told["cancelled"] + told["jammed"]
    assert told["begun"] == ended > 0
    assert told["collected"] > 0
    assert told["pin_to_door_p95_ms"] > 0
    assert told["api_p95_ms"] > 0
    assert told["door_cycles"] >= 2 * told["collected"]
    since = "SELECT stage, count(*) FROM shipments WHERE created_at > $1 GROUP BY stage"
    stages = dict(ask(sandbox.settings, since, began))
    assert stages == {
        stage: count
        for stage, count in (
            ("collected", told["collected"]),
            ("cancelled", told["cancelled"]),
            ("fault", told["jammed"]),
        )
        if count
    }
    assert breaches(sandbox.settings) == []


@pytest.mark.slow
def test_a_fleet_uses_the_boxes_of_the_one_before_unless_something_is_left_in_them(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    """The first is broken off by Ctrl-C with shipments under way; it ends in order and in time."""
    said = tmp_path / "said"
    with said.open("wb") as written:
        options = ("--boxes", "2", "--rate", "5", "--faults", "0", "--json")
        broken_off = subprocess.Popen(
            command(sandbox, *options), env=environment_of(sandbox.settings), stdout=written, stderr=written
        )
    held = "SELECT DISTINCT box_id FROM compartments WHERE shipment_id IS NOT NULL"
    try:
        end = time.monotonic() + SECONDS
        while len(ask(sandbox.settings, held)) < 2:
            assert broken_off.poll() is None, said.read_text()
            assert time.monotonic() < end
            time.sleep(0.2)
        broken_off.send_signal(signal.SIGINT)
        assert broken_off.wait(ENDS_SECONDS) == 0
    finally:
        broken_off.kill()
        broken_off.wait()
    told = json.loads(said.read_text())
    assert told["broken_off"] > 0
    assert told["begun"] == told["collected"] + told["broken_off"]
    assert told["stuck"] == 0

    left = {box for (box,) in ask(sandbox.settings, held)}
    played = play(sandbox, "--boxes", "3", "--rate", "1", "--seconds", "1", "--faults", "0", "--json")
    assert played.returncode == 0, played.stderr
    active = {box for (box,) in ask(sandbox.settings, "SELECT id FROM boxes WHERE active")}
    assert len(active) == 3
    assert not active & left
    assert len(ask(sandbox.settings, "SELECT id FROM tenants WHERE name = 'Fleet'")) == 1
    assert ask(sandbox.settings, "SELECT id FROM api_keys WHERE revoked_at IS NULL") == []


def test_without_a_terminal_the_end_is_a_table(sandbox: Sandbox) -> None:
    played = play(sandbox, "--boxes", "1", "--rate", "1", "--seconds", "1", "--faults", "0")
    assert played.returncode == 0, played.stderr
    assert "1 box, 1 s" in played.stdout
    assert "collected" in played.stdout


def test_it_does_not_play_in_production(sandbox: Sandbox) -> None:
    refused = play(sandbox, "--boxes", "1", PICKUPBOX_ENVIRONMENT="production", PICKUPBOX_WEBHOOK_LOOPBACK="false")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "This is production: a fleet plays in a sandbox only." in refused.stderr


@pytest.mark.parametrize(
    ("option", "changed", "words"),
    [
        ("http://127.0.0.1:{port}/v1", {}, "Is the sandbox's API there?"),
        (None, {"PICKUPBOX_MQTT_URL": "mqtts://127.0.0.1:{port}"}, "a listener without TLS"),
    ],
)
def test_what_is_missing_is_said(sandbox: Sandbox, option: str | None, changed: dict[str, str], words: str) -> None:
    port = free_port()
    options = ("--base-url", option.format(port=port)) if option else ()
    said = {name: value.format(port=port) for name, value in changed.items()}
    refused = play(sandbox, "--boxes", "1", *options, **said)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert words in refused.stderr
    assert "Traceback" not in refused.stderr
