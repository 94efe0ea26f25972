"""A loop of the worker: nothing that happens in one run ends it, and it stops when it is told."""

import asyncio
import time

import asyncpg
import pytest
from structlog.testing import capture_logs

from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.worker import loops
from pickupbox.worker.loops import repeat


@pytest.fixture(autouse=True)
def _no_long_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "AFTER_AN_ERROR", 0.01)


async def test_a_loop_survives_errors_of_every_kind_and_goes_on() -> None:
    stop = asyncio.Event()
    troubles: list[Exception] = [ValueError("ours"), asyncpg.PostgresError("theirs"), TemporarilyUnavailable()]
    runs = 0

    async def run() -> float:
        nonlocal runs
        runs += 1
        if troubles:
            raise troubles.pop()
        if runs == 6:
            stop.set()
        return 0.001

    with capture_logs() as logs:
        await asyncio.wait_for(repeat("test", run, stop), timeout=5)
    assert runs == 6
    said = [(line["event"], line["log_level"], line["loop"]) for line in logs]
    assert said == [
        ("loop_waits_for_database", "warning", "test"),
        ("loop_failed", "error", "test"),
        ("loop_failed", "error", "test"),
    ]


async def test_a_loop_rests_as_long_as_its_run_says() -> None:
    stop = asyncio.Event()
    began: list[float] = []

    async def run() -> float:
        began.append(time.monotonic())
        if len(began) == 3:
            stop.set()
        return 0.1 if len(began) == 1 else 0

    await asyncio.wait_for(repeat("test", run, stop), timeout=5)
    assert began[1] - began[0] >= 0.09
    assert began[2] - began[1] < 0.09


async def test_a_resting_loop_stops_at_once_when_told() -> None:
    stop = asyncio.Event()
    ran = asyncio.Event()

    async def run() -> float:
        ran.set()
        return 3600

    looping = asyncio.create_task(repeat("test", run, stop))
    await ran.wait()
    await asyncio.sleep(0.01)
    began = time.monotonic()
    stop.set()
    await asyncio.wait_for(looping, timeout=5)
    assert time.monotonic() - began < 0.2


async def test_a_run_under_way_is_finished_before_the_loop_stops() -> None:
    stop = asyncio.Event()
    begun, may_end = asyncio.Event(), asyncio.Event()
    finished = 0

    async def run() -> float:
        nonlocal finished
        begun.set()
        await may_end.wait()
        finished += 1
        return 0

    looping = asyncio.create_task(repeat("test", run, stop))
    await begun.wait()
    stop.set()
    await asyncio.sleep(0.01)
    assert not looping.done()
    may_end.set()
    await asyncio.wait_for(looping, timeout=5)
    assert finished == 1


async def test_a_loop_that_was_told_to_stop_does_not_begin() -> None:
    stop = asyncio.Event()
    stop.set()

    async def run() -> float:
        raise AssertionError("it ran")

    with capture_logs() as logs:
        await asyncio.wait_for(repeat("test", run, stop), timeout=5)
    assert logs == []
