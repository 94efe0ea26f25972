"""What the commands say when something is not as it should be: a sentence and a cure, never a traceback."""

import re
import socket
import subprocess
import sys
import time

import pytest

from pickupbox.settings import Settings
from pickupbox.vault import new_secret
from tests.cli.conftest import Query, Run
from tests.support.databases import environment_of

NOWHERE = "postgresql://127.0.0.1:1/nowhere"


@pytest.mark.parametrize(
    "command",
    [("tenant", "list"), ("tenant", "add", "Shop"), ("check",), ("secret", "rewrap"), ("migrate",)],
    ids=" ".join,
)
def test_a_command_says_so_when_postgresql_is_away(run: Run, command: tuple[str, ...]) -> None:
    done = run(*command, PICKUPBOX_DATABASE_URL=NOWHERE)
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit), "a traceback instead of a sentence"
    assert "PostgreSQL does not answer" in done.stderr
    assert "Check PICKUPBOX_DATABASE_URL" in done.stderr


@pytest.mark.parametrize("command", [("tenant", "list"), ("migrate",), ("worker",), ("check",)], ids=" ".join)
def test_a_command_names_the_settings_that_are_missing(run: Run, command: tuple[str, ...]) -> None:
    done = run(*command, PICKUPBOX_ENVIRONMENT=None, PICKUPBOX_SECRETS=None)
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit), "a traceback instead of a sentence"
    assert "The settings are not complete" in done.stderr
    assert "PICKUPBOX_ENVIRONMENT" in done.stderr
    assert "PICKUPBOX_SECRETS" in done.stderr


def test_a_setting_that_is_wrong_is_named_and_not_repeated(run: Run) -> None:
    secret = new_secret("k1").removesuffix("=")
    done = run("tenant", "list", PICKUPBOX_SECRETS=secret, PICKUPBOX_ENVIRONMENT="xyzzy")
    assert done.exit_code == 1
    assert "PICKUPBOX_SECRETS: Value error, a secret is written id:base64" in done.stderr
    assert secret[3:] not in done.output
    assert "xyzzy" not in done.output


def test_several_api_processes_without_a_shared_limiter_are_refused(run: Run) -> None:
    done = run("api", "--workers", "2", PICKUPBOX_RATE_LIMIT_URL=None)
    assert done.exit_code == 1
    assert "must share their rate limits" in done.stderr
    assert "PICKUPBOX_RATE_LIMIT_URL" in done.stderr


def test_the_api_does_not_start_with_wrong_settings_and_does_not_log_the_secret(settings: Settings) -> None:
    secret = new_secret("k1").removesuffix("=")
    environment = environment_of(settings) | {"PICKUPBOX_SECRETS": secret}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    ran = subprocess.run(
        [sys.executable, "-m", "pickupbox", "api", "--port", port],
        env=environment,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert ran.returncode == 1
    assert secret[3:] not in ran.stderr + ran.stdout
    assert "The settings are not complete" in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("tenant", "add", ""),
        ("tenant", "rate", "--tenant", "{tenant}", "0", "10"),
        ("tenant", "rate", "--tenant", "{tenant}", "10", "0"),
        ("tenant", "rate", "--tenant", "{tenant}", "99999999999", "10"),
        ("box", "add", "", "--tenant", "{tenant}"),
        ("box", "add", "Box", "--tenant", "{tenant}", "--compartments", "0"),
        ("key", "add", "--tenant", "{tenant}", "--name", ""),
    ],
    ids=" ".join,
)
def test_a_value_that_cannot_be_is_refused_with_a_sentence(run: Run, tenant: str, command: tuple[str, ...]) -> None:
    done = run(*(part.format(tenant=tenant) for part in command))
    assert done.exit_code in (1, 2)
    assert isinstance(done.exception, SystemExit), "a traceback instead of a sentence"
    assert done.stderr
    assert "PostgreSQL does not answer" not in done.stderr


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("x" * 121, (), r"NAME.*at most 120 characters"),
        ("Box", ("--location", "x" * 161), r"--location.*at most 160 characters"),
        ("Box", ("--address", "x" * 241), r"--address.*at most 240 characters"),
    ],
    ids=["name", "location", "address"],
)
def test_a_text_that_is_too_long_for_a_box_is_refused_with_how_long_it_may_be(
    run: Run, tenant: str, query: Query, name: str, more: tuple[str, ...], said: str
) -> None:
    done = run("box", "add", name, "--tenant", tenant, *more)
    assert done.exit_code == 2
    assert re.search(said, done.stderr)
    assert query("SELECT FROM boxes WHERE tenant_id = $1", tenant) == []


def test_the_texts_of_a_box_may_be_as_long_as_that_and_an_empty_one_is_none(
    run: Run, tenant: str, query: Query
) -> None:
    for texts in (("x" * 120, "y" * 160, "z" * 240), (" Box ", "", " ")):
        name, location, address = texts
        made = run("box", "add", name, "--tenant", tenant, "--location", location, "--address", address)
        kept = query("SELECT name, location_name, address FROM boxes WHERE id = $1", made.stdout.strip())
        assert kept == [(name.strip(), location or None, address.strip() or None)]


@pytest.mark.parametrize("name", ["k 2", "k:2", "k,2", "k-2", ""])
def test_a_name_that_the_settings_would_refuse_gets_no_secret(run: Run, name: str) -> None:
    done = run("secret", "new", "--", name)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert "letters and digits" in done.stderr


def test_a_worker_stops_when_it_is_told(settings: Settings) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-m", "pickupbox", "worker"],
        env=environment_of(settings),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert worker.stderr is not None
    assert "worker_started" in worker.stderr.readline()
    worker.terminate()
    began = time.monotonic()
    _, said = worker.communicate(timeout=10)
    assert time.monotonic() - began < 3
    assert worker.returncode == 0
    assert "worker_stopped" in said
