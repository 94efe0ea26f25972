"""Box, gateway and service together, with duplicates, reordering, loss, power cuts, killed gateways and a box whose
clock is a day off: what the service believes never puts a parcel at risk, and in the end everyone agrees."""

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import asyncpg
import pytest
import structlog
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import pickupbox.box.clock
import pickupbox.box.journal
import pickupbox.box.link
import pickupbox.box.program
import pickupbox.database.connection
import pickupbox.devices.gateway
import pickupbox.devices.outbox
from pickupbox.domain.doors import Purpose
from pickupbox.settings import Settings
from pickupbox.usecases.core import open_core
from tests.support.databases import own_database
from tests.truth.agreement import end, look
from tests.truth.clock import MOVED_BY_HAND, HandDatabase, HandLoop, board, lasting_pool, moved
from tests.truth.days import Day
from tests.truth.onlooker import OVER
from tests.truth.street import Street

HISTORIES = int(os.environ.get("PICKUPBOX_TRUTH_HISTORIES", "200"))
PARTS = 4  # so that the test processes share them
SEED = int(os.environ.get("PICKUPBOX_TRUTH_SEED", "1"))
STEPS = 36
ENOUGH = 50  # histories, for the box to be alone in every way
ALONE = {Purpose.LOAD, Purpose.PICK_UP, OVER}


class World:
    """One loop, one database and one set of clocks for all histories of a test process."""

    def __init__(self, made: Settings, runner: asyncio.Runner, folder: Path) -> None:
        loop = runner.get_loop()
        assert isinstance(loop, HandLoop)
        self.settings, self.loop, self.folder, self.runner = made, loop, folder, runner
        self.core = replace(open_core(made), db=HandDatabase(made.database_url, loop))
        self.street: Street | None = None
        self.errors: list[Any] = []

    def run(self, act: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(act)

    def new_street(self, chance: Random) -> Street:
        self.loop.began = self.loop.moment  # a new day, however long the last one was
        self.street = Street(self.core, self.settings, self.loop, self.folder, chance)
        return self.street

    def keep_error(self, _: object, level: str, event: Any) -> Any:
        """The gateway outlives what goes wrong inside it; the model must hear of it all the same."""
        if level == "error":
            self.errors.append(event)
        raise structlog.DropEvent


async def _move_by_hand(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(MOVED_BY_HAND)
    await connection.close()


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """For the journals; in memory where there is such a folder, because a power cut here loses no page of a disk."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as made:
        yield Path(made)


@pytest.fixture(scope="module")
def world(folder: Path) -> Iterator[World]:
    with own_database() as made, asyncio.Runner(loop_factory=HandLoop) as runner, pytest.MonkeyPatch.context() as patch:
        runner.run(_move_by_hand(made.database_url))
        world = World(made, runner, folder)
        _replace_clocks_and_broker(patch, world)
        logging.disable(logging.CRITICAL)
        structlog.configure(processors=[world.keep_error])
        yield world
        structlog.reset_defaults()
        logging.disable(logging.NOTSET)
        runner.run(world.core.db.close())


def _replace_clocks_and_broker(patch: pytest.MonkeyPatch, world: World) -> None:
    def skew() -> timedelta:
        return world.street.skew if world.street else timedelta()

    def switched_on() -> float:
        return world.street.switched_on if world.street else 0.0

    in_the_box: tuple[ModuleType, ...] = (pickupbox.box.journal, pickupbox.box.link, pickupbox.box.program)
    for module in in_the_box:
        patch.setattr(module, "datetime", moved(world.loop, skew))
    patch.setattr(pickupbox.box.clock, "time", board(world.loop, switched_on))
    for module in (pickupbox.devices.gateway, pickupbox.devices.outbox):
        patch.setattr(module, "datetime", moved(world.loop))
    patch.setattr(pickupbox.devices.gateway, "connect", lambda *given: world.street.connect(*given))
    patch.setattr(pickupbox.database.connection.asyncpg, "create_pool", lasting_pool)


class Machine(RuleBasedStateMachine):
    world: World
    histories = 0
    seen: Counter[str]
    day: Day | None = None

    def _do(self, work: Coroutine[Any, Any, Any]) -> None:
        """A failure comes with the day's diary: two transactions side by side may not end in the same order again."""
        try:
            self.world.run(work)
            assert self.world.errors == []
        except Exception as error:
            error.add_note("\n".join(self.day.diary))
            raise

    # One drawn number is the history's chance, as in the model of the lifecycle, and for the same reasons.
    @initialize(number=st.integers(0, 2**64 - 1))
    def draw(self, number: int) -> None:
        self.day = Day(self.world.new_street(Random(number)))  # noqa: S311 - repeatable on purpose
        self._do(self.day.begin())

    @rule()
    def act(self) -> None:
        self._do(self.day.act())

    @invariant()
    def what_the_service_knows_to_lie_there_is_not_offered(self) -> None:
        if self.day is not None:
            self._do(look(self.day))

    def teardown(self) -> None:
        if self.day is None:
            return
        try:
            self._do(end(self.day))
            type(self).histories += 1
            type(self).seen += self.day.truth.seen
        finally:
            self.world.run(self.day.street.close())
            self.day.street.clear_away()
            self.world.errors.clear()


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_history_puts_a_parcel_at_risk(world: World, part: int) -> None:
    histories = -(-HISTORIES // PARTS)
    machine = seed(SEED * PARTS + part)(
        type("Machine", (Machine,), {"world": world, "histories": 0, "seen": Counter()})
    )
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=histories,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert machine.histories >= histories
    assert histories < ENOUGH or machine.seen.keys() >= ALONE, f"the box was never alone in some way: {machine.seen}"
