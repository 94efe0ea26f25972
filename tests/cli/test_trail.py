"""What a person does at the command line stands in the tenant's audit trail."""

from datetime import UTC, datetime

from pickupbox.certificates import new_authority
from tests.cli.conftest import Query, Run

NOTED = "SELECT actor, action, object FROM audit WHERE tenant_id = $1 ORDER BY id"


def test_a_tenants_trail_begins_with_its_making_and_says_how_fast_it_may_ask(run: Run, query: Query) -> None:
    tenant = run("tenant", "add", "Ada's shop").stdout.split()[0]
    assert run("tenant", "rate", "--tenant", tenant, "70", "140").exit_code == 0
    assert query(NOTED, tenant) == [
        ("platform", "tenant.add: Ada's shop", tenant),
        ("platform", "tenant.rate: 70 per second, burst 140", tenant),
    ]


def test_a_box_that_is_added_offered_or_no_longer_offered_is_noted(run: Run, tenant: str, query: Query) -> None:
    box = run("box", "add", "Station", "--tenant", tenant, "--compartments", "8").stdout.strip()
    assert run("box", "activate", box, "--tenant", tenant, "--off").exit_code == 0
    assert run("box", "activate", box, "--tenant", tenant).exit_code == 0
    assert query(NOTED, tenant)[1:] == [
        ("platform", "box.add: 8 compartments", box),
        ("platform", "box.deactivate", box),
        ("platform", "box.activate", box),
    ]


def test_what_was_refused_is_not_noted(run: Run, tenant: str, query: Query) -> None:
    other = run("tenant", "add", "Other").stdout.split()[0]
    box = run("box", "add", "Box", "--tenant", tenant).stdout.strip()
    before = query("SELECT count(*) FROM audit")
    assert run("box", "activate", box, "--tenant", other, "--off").exit_code == 1
    assert run("box", "add", "Box", "--tenant", "ten_nobody").exit_code == 1
    assert run("tenant", "rate", "--tenant", "ten_nobody", "70", "140").exit_code == 1
    assert query("SELECT count(*) FROM audit") == before


def test_the_actor_is_the_platform_unless_somebody_says_who(run: Run, tenant: str, query: Query) -> None:
    signing = {"PICKUPBOX_DEVICE_AUTHORITY": new_authority("Test devices", datetime.now(UTC))}
    box = run("box", "add", "Box", "--tenant", tenant).stdout.strip()
    first = run("box", "enroll", box, "--tenant", tenant, **signing).stdout.split()[0]
    assert run("box", "revoke", first, "--tenant", tenant).exit_code == 0
    second = run("box", "enroll", box, "--tenant", tenant, "--operator", "Ada", **signing).stdout.split()[0]
    assert run("box", "revoke", second, "--tenant", tenant, "--operator", "Ada").exit_code == 0
    assert query(NOTED, tenant)[2:] == [
        ("platform", "device.enroll", first),
        ("platform", "device.revoke", first),
        ("Ada", "device.enroll", second),
        ("Ada", "device.revoke", second),
    ]
