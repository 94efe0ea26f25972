"""The commands about people."""

import json
import re

from tests.cli.conftest import Query, Run

PASSWORD = "correct horse battery staple\n"


def add(run: Run, tenant: str, email: str, *more: str) -> str:
    done = run("user", "add", "--tenant", tenant, "--email", email, "--name", "Ada", "--json", *more, input=PASSWORD)
    assert done.exit_code == 0, done.output
    user: str = json.loads(done.stdout.splitlines()[-1])["id"]
    return user


def test_a_person_is_added_listed_and_removed(run: Run, tenant: str, query: Query) -> None:
    add(run, tenant, "owner.cli@firm.test", "--password-stdin")
    user = add(run, tenant, "Ada.Cli@firm.test", "--role", "operator", "--password-stdin")
    (row,) = query("SELECT email, role, password_hash LIKE '$argon2id$%' FROM users WHERE id = $1", user)
    assert row == ("ada.cli@firm.test", "operator", True)
    (line,) = [line for line in run("user", "list", "--tenant", tenant).stdout.splitlines() if user in line]
    assert re.findall(r"ada\.cli@firm\.test|operator|never", line) == ["ada.cli@firm.test", "operator", "never"]
    assert run("user", "remove", "--tenant", tenant, "--email", "ada.cli@firm.test").exit_code == 0
    assert user not in run("user", "list", "--tenant", tenant).stdout
    again = run("user", "remove", "--tenant", tenant, "--email", "ada.cli@firm.test")
    assert (again.exit_code, "no such person" in again.stderr) == (1, True)
    last = run("user", "remove", "--tenant", tenant, "--email", "owner.cli@firm.test")
    assert (last.exit_code, "the last one" in last.stderr) == (1, True)


def test_an_invitation_prints_its_link(run: Run, tenant: str, query: Query) -> None:
    arguments = ("--tenant", tenant, "--email", "wim.cli@firm.test", "--name", "Wim", "--role", "viewer")
    done = run("user", "invite", *arguments, PICKUPBOX_ADMIN_URL="https://admin.firm.test")
    assert done.exit_code == 0, done.output
    assert re.search(r"^https://admin\.firm\.test/link/[\w-]{43}$", done.stdout, re.MULTILINE)
    assert query("SELECT kind FROM mails WHERE recipient = 'wim.cli@firm.test'") == [("invitation",)]
    taken = run("user", "invite", *arguments)
    assert (taken.exit_code, "here already" in taken.stderr) == (1, True)


def test_a_tenant_that_is_not_there_and_a_short_password_are_said(run: Run, tenant: str) -> None:
    who = ("--email", "eve.cli@firm.test", "--name", "Eve", "--password-stdin")
    nowhere = run("user", "add", "--tenant", "ten_nowhere", *who, input=PASSWORD)
    assert (nowhere.exit_code, nowhere.stderr) == (1, "There is no such tenant.\n")
    short = run("user", "add", "--tenant", tenant, *who, input="short\n")
    assert (short.exit_code, "12 to 128" in short.stderr) == (1, True)


def test_a_provider_that_cannot_be_one_is_refused(run: Run, tenant: str) -> None:
    where = ("--tenant", tenant, "--domain", "firm.test", "--client-id", "us")
    done = run("user", "provider", *where, "--issuer", "http://169.254.169.254", input="secret\n")
    assert (done.exit_code, "cannot be used" in done.stderr) == (1, True)
    gone = run("user", "provider-remove", "--tenant", tenant, "--domain", "firm.test")
    assert gone.exit_code == 1


def test_a_second_factor_is_taken_off(run: Run, tenant: str) -> None:
    add(run, tenant, "lost.cli@firm.test", "--password-stdin")
    assert run("user", "reset-second-factor", "--tenant", tenant, "--email", "lost.cli@firm.test").exit_code == 0
