"""Bad input: whatever is sent, the answer is in the contract."""

import asyncio
import os
from pathlib import Path

import pytest

from pickupbox.settings import Settings
from pickupbox.usecases.check import check
from pickupbox.usecases.core import open_core
from tests.fuzz.run import CHECKS, Plan, run
from tests.fuzz.street import lay_out
from tests.fuzz.tally import Tally
from tests.support.databases import own_database
from tests.support.processes import api_process

CASES = int(os.environ.get("PICKUPBOX_FUZZ_CASES", "3000"))
SEED = int(os.environ.get("PICKUPBOX_FUZZ_SEED", "1"))
SECONDS = 180 + CASES / 15


@pytest.mark.slow
def test_no_input_gets_an_answer_outside_the_contract(tmp_path: Path) -> None:
    plan = Plan(CASES, SEED, SECONDS)
    log = tmp_path / "api.log"
    with own_database() as settings:
        street = asyncio.run(lay_out(settings, plan.cases))
        with api_process(settings, log) as base_url:
            tally = run(base_url, street, plan)
        breaches = asyncio.run(_breaches(settings))
    print(f"\nseed {plan.seed}: {tally.report()}")
    assert not tally.faults, f"seed {plan.seed}, {len(tally.faults)} faults:\n{tally.told_faults()}"
    assert tally.sent >= plan.cases, f"only {tally.sent} of {plan.cases} cases in {plan.seconds:.0f} s"
    assert log.read_bytes().count(b'"event":"request"') >= tally.sent
    assert b"unexpected_error" not in log.read_bytes()
    assert breaches == []
    _assert_that_it_was_worth_it(tally)


def _assert_that_it_was_worth_it(tally: Tally) -> None:
    """A run that gets nowhere finds nothing: every operation succeeds regularly, with data of every kind."""
    assert len(tally.operations) == 7 + 2  # the contract's, and the additions
    assert {operation for operation in tally.operations if tally.succeeded(operation) < tally.sent / 100} == set()
    assert tally.generated("positive") > tally.sent / 4
    assert tally.generated("negative") > tally.sent / 5
    assert tally.followed.keys() == tally.operations - {"GET /boxes"}
    assert tally.followed.total() > tally.sent / 12
    assert tally.checks.keys() == set(CHECKS)


async def _breaches(settings: Settings) -> list[str]:
    core = open_core(settings)
    try:
        return [breach for finding in await check(core) for breach in finding.breaches]
    finally:
        await core.db.close()
