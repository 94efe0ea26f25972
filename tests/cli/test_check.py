"""`pickupbox check`: a table, and the exit says whether all hold."""

from pickupbox.usecases.check import INVARIANTS
from tests.cli.conftest import Query, Run


def test_a_sound_database_passes_with_every_invariant_in_the_table(run: Run, shipment: str) -> None:
    done = run("check")
    assert done.exit_code == 0, done.output
    for number, text in INVARIANTS.items():
        assert any(str(number) in line and text in line and "none" in line for line in done.stdout.splitlines())
    assert "All hold." in done.stdout


def test_a_breach_is_shown_and_the_exit_is_1(run: Run, shipment: str, tenant: str, query: Query) -> None:
    query("UPDATE shipments SET stage = 'loading' WHERE id = $1", shipment)
    for command in (("check",), ("check", "--tenant", tenant)):
        done = run(*command)
        assert done.exit_code == 1
        assert f"4: {shipment}" in done.stderr
        assert "All hold" not in done.stdout


def test_a_check_of_one_tenant_passes_while_another_is_broken(run: Run, shipment: str, query: Query) -> None:
    query("UPDATE shipments SET stage = 'loading' WHERE id = $1", shipment)
    other = run("tenant", "add", "Other").stdout.split()[0]
    assert run("check", "--tenant", other).exit_code == 0
    assert run("check").exit_code == 1


def test_a_breach_names_its_shipment_whole_however_narrow_the_terminal(run: Run, shipment: str, query: Query) -> None:
    query("UPDATE shipments SET stage = 'loading' WHERE id = $1", shipment)
    assert shipment in run("check", COLUMNS="80").stderr
