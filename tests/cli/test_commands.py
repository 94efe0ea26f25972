"""What the commands do, and what they say."""

import json
import re
import subprocess
import sys

import pytest

from pickupbox.cli import COMMANDS, load
from pickupbox.database import schema
from pickupbox.domain.identifiers import is_api_key
from pickupbox.settings import Settings
from pickupbox.vault import new_secret, read_secrets
from tests.cli.conftest import Query, Run


def test_migrate_says_at_which_revision_the_database_is_and_can_be_repeated(run: Run) -> None:
    for _ in range(2):
        done = run("migrate")
        assert done.exit_code == 0, done.output
        assert done.stdout == f"The database is at revision {schema.newest_revision()}.\n"


def test_migrate_does_not_take_over_a_database_of_another_environment(run: Run, query: Query) -> None:
    refused = run("migrate", PICKUPBOX_ENVIRONMENT="production")
    assert refused.exit_code == 1
    assert "This database is the sandbox of cell c1" in refused.stderr
    assert query("SELECT environment, cell FROM deployment") == [("sandbox", "c1")]


def test_a_tenant_is_added_with_what_to_do_next(run: Run, query: Query) -> None:
    added = run("tenant", "add", "Ada's shop")
    tenant = added.stdout.split()[0]
    assert re.fullmatch(r"ten_c1_\w+", tenant)
    assert f"pickupbox key add --tenant {tenant}" in added.stdout
    assert query("SELECT name, rate_per_second, rate_burst FROM tenants WHERE id = $1", tenant) == [
        ("Ada's shop", 50, 100)
    ]


def test_a_tenant_is_listed_with_its_rate(run: Run, tenant: str) -> None:
    done = run("tenant", "rate", "--tenant", tenant, "70", "140")
    assert done.exit_code == 0, done.output
    (line,) = [line for line in run("tenant", "list").stdout.splitlines() if tenant in line]
    assert re.findall(r"\b(Test shop|70|140)\b", line) == ["Test shop", "70", "140"]


def test_a_box_is_added_listed_and_no_longer_offered(run: Run, tenant: str, query: Query) -> None:
    added = run(
        "box", "add", "Station", "--tenant", tenant, "--compartments", "8", "--location", "Hall", "--address", "Road 1"
    )
    box = added.stdout.strip()
    assert query("SELECT name, location_name, address, active FROM boxes WHERE id = $1", box) == [
        ("Station", "Hall", "Road 1", True)
    ]
    codes = query("SELECT code FROM compartments WHERE box_id = $1 ORDER BY position", box)
    assert [code for (code,) in codes] == ["A1", "A2", "A3", "A4", "A5", "A6", "B1", "B2"]
    assert run("box", "activate", box, "--tenant", tenant, "--off").exit_code == 0
    (line,) = [line for line in run("box", "list", "--tenant", tenant).stdout.splitlines() if box in line]
    assert re.findall(r"Station|\bno\b|8 of 8", line) == ["Station", "no", "8 of 8"]
    assert run("box", "activate", box, "--tenant", tenant).exit_code == 0
    assert query("SELECT active FROM boxes WHERE id = $1", box) == [(True,)]


def test_a_key_is_shown_once_and_never_kept(run: Run, tenant: str, query: Query) -> None:
    key = run("key", "add", "--tenant", tenant).stdout.split()[0]
    assert is_api_key(key)
    assert key.startswith("pbx_test_c1_")
    assert key not in run("key", "list", "--tenant", tenant).output
    assert key not in str(query("SELECT * FROM api_keys WHERE tenant_id = $1", tenant))


def test_a_key_of_production_says_so(tenant: str, settings: Settings, run: Run) -> None:
    key = run("key", "add", "--tenant", tenant, "--name", "live", PICKUPBOX_ENVIRONMENT="production").stdout.split()[0]
    assert key.startswith("pbx_live_c1_")


def test_a_key_is_rotated_two_live_at_a_time(run: Run, tenant: str) -> None:
    first = json.loads(run("key", "add", "--tenant", tenant, "--json").stdout)
    second = run("key", "add", "--tenant", tenant, "--json")
    assert second.exit_code == 0, "a second key of the same name lives beside the first during a rotation"
    third = run("key", "add", "--tenant", tenant, "--json")
    assert third.exit_code == 1
    assert "two keys of this name live already" in third.stderr
    assert run("key", "revoke", first["id"], "--tenant", tenant).exit_code == 0
    assert run("key", "add", "--tenant", tenant, "--json").exit_code == 0


def test_a_revoked_key_is_listed_as_revoked_and_cannot_be_revoked_again(run: Run, tenant: str) -> None:
    key = json.loads(run("key", "add", "--tenant", tenant, "--json").stdout)["id"]
    assert run("key", "revoke", key, "--tenant", tenant).exit_code == 0
    (line,) = [line for line in run("key", "list", "--tenant", tenant).stdout.splitlines() if key in line]
    assert "revoked" in line
    again = run("key", "revoke", key, "--tenant", tenant)
    assert again.exit_code == 1
    assert "no such live key" in again.stderr


def test_with_json_a_command_says_one_line_of_json_and_nothing_else(run: Run, tenant: str) -> None:
    commands = [
        (("tenant", "add", "Other", "--json"), {"id"}),
        (("box", "add", "Box", "--tenant", tenant, "--json"), {"id"}),
        (("key", "add", "--tenant", tenant, "--json"), {"id", "api_key"}),
    ]
    for command, fields in commands:
        done = run(*command)
        assert done.exit_code == 0, done.output
        assert done.stdout.count("\n") == 1
        assert set(json.loads(done.stdout)) == fields
        assert done.stderr == ""


def test_a_new_secret_is_one_line_that_the_settings_take(run: Run) -> None:
    done = run("secret", "new", "k7")
    (secret,) = read_secrets(done.stdout.removesuffix("\n"))
    assert secret.id == "k7"
    assert done.stdout.count("\n") == 1


def test_rewrap_seals_every_pin_under_the_new_secret_and_says_how_many(
    run: Run, settings: Settings, query: Query, shipment: str
) -> None:
    ((count,),) = query("SELECT count(*) FROM shipments")
    ((keys,),) = query("SELECT count(*) FROM webhook_endpoints")
    ((people,),) = query("SELECT count(*) FROM mails WHERE text_sealed IS NOT NULL")
    said = f"{count} PINs, the keys of {keys} webhook endpoints and {people} secrets of people sealed again.\n"
    old, new = settings.secrets.get_secret_value(), new_secret("k2")
    done = run("secret", "rewrap", PICKUPBOX_SECRETS=f"{new},{old}")
    assert done.stdout == said
    assert query("SELECT pin_secret_id FROM shipments WHERE id = $1", shipment) == [("k2",)]
    # And back, so that the other tests can go on with the settings they know.
    assert run("secret", "rewrap", PICKUPBOX_SECRETS=f"{old},{new}").stdout == said


@pytest.mark.parametrize(
    "command",
    [
        ("tenant", "rate", "--tenant", "ten_nobody", "10", "10"),
        ("box", "add", "Box", "--tenant", "ten_nobody"),
        ("box", "activate", "box_none", "--tenant", "ten_nobody"),
        ("key", "add", "--tenant", "ten_nobody"),
        ("key", "revoke", "key_none", "--tenant", "ten_nobody"),
        ("check", "--tenant", "ten_nobody"),
    ],
    ids=" ".join,
)
def test_what_does_not_exist_is_said_to_and_the_exit_is_1(run: Run, command: tuple[str, ...]) -> None:
    done = run(*command)
    assert done.exit_code == 1
    assert re.search(r"no such (tenant|box|live key)", done.stderr)
    assert done.stdout == ""


@pytest.mark.parametrize("group", [(), ("tenant",), ("box",), ("key",), ("secret",)])
def test_every_command_explains_itself(run: Run, group: tuple[str, ...]) -> None:
    shown = run(*group, "--help")
    assert shown.exit_code == 0
    assert "Usage" in shown.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_by_the_line_that_it_begins_with(name: str) -> None:
    assert load(name).help.partition("\n\n")[0] == COMMANDS[name][1]


def test_the_list_of_commands_imports_none_of_them() -> None:
    listed = "import sys, pickupbox.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True).stdout.split()
    assert {one for one in loaded if one.startswith("pickupbox.")} == {"pickupbox.cli"}
    assert {"aiohttp", "asyncpg", "structlog"}.isdisjoint(loaded)


def test_what_belongs_to_one_tenant_is_not_changed_for_another(run: Run, tenant: str, query: Query) -> None:
    other = run("tenant", "add", "Other").stdout.split()[0]
    box = run("box", "add", "Box", "--tenant", tenant).stdout.strip()
    key = json.loads(run("key", "add", "--tenant", tenant, "--json").stdout)["id"]
    assert run("box", "activate", box, "--tenant", other, "--off").exit_code == 1
    assert run("key", "revoke", key, "--tenant", other).exit_code == 1
    assert query("SELECT active FROM boxes WHERE id = $1", box) == [(True,)]
    assert query("SELECT revoked_at FROM api_keys WHERE id = $1", key) == [(None,)]
    assert box not in run("box", "list", "--tenant", other).stdout
    assert key not in run("key", "list", "--tenant", other).stdout


@pytest.mark.parametrize("columns", ["80", "200"])
def test_lists_show_ids_whole_however_narrow_the_terminal(run: Run, tenant: str, columns: str) -> None:
    """An id is there to be copied into the next command."""
    box = run("box", "add", "Box", "--tenant", tenant).stdout.strip()
    key = json.loads(run("key", "add", "--tenant", tenant, "--json").stdout)["id"]
    assert tenant in run("tenant", "list", COLUMNS=columns).stdout
    assert box in run("box", "list", "--tenant", tenant, COLUMNS=columns).stdout
    assert key in run("key", "list", "--tenant", tenant, COLUMNS=columns).stdout


@pytest.mark.parametrize("name", ["Shop [/b]", "[red]Shop[/red]"])
def test_names_are_shown_as_they_are_brackets_included(run: Run, name: str) -> None:
    tenant = run("tenant", "add", name).stdout.split()[0]
    shown = run("tenant", "list")
    assert shown.exception is None
    assert any(tenant in line and name in line for line in shown.stdout.splitlines())


def test_an_operator_sees_a_boxs_doors_and_restores_a_compartment(run: Run, tenant: str, query: Query) -> None:
    box = run("box", "add", "Box", "--tenant", tenant, "--compartments", "2").stdout.strip()
    query("UPDATE compartments SET in_service = false WHERE box_id = $1 AND code = 'A2'", box)
    shown = run("box", "doors", box, "--tenant", tenant).stdout
    assert "A1" in shown
    assert "out of service: look inside" in shown
    assert run("box", "restore", box, "A2", "--tenant", "ten_other", "--operator", "Ada").exit_code == 1
    assert run("box", "restore", box, "A2", "--tenant", tenant, "--operator", "Ada").exit_code == 0
    assert "out of service" not in run("box", "doors", box, "--tenant", tenant).stdout
    noted = query("SELECT actor, action FROM audit WHERE object = $1 ORDER BY id", box)
    assert noted[-1] == ("Ada", "compartment.in_service: A2")
    assert run("box", "doors", "box_nowhere", "--tenant", tenant).exit_code == 1
