"""The cabinet: what is not written down does not count, and a silent board is no closed door."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pickupbox.box import cabinet as module
from pickupbox.box.cabinet import Cabinet
from pickupbox.box.doors import DoorState
from pickupbox.box.drivers.virtual import VirtualDriver
from pickupbox.box.journal import Journal, JournalError

LOOK_SECONDS = 0.25  # longer than a sensor must say the same


class Bench:
    """A cabinet with one door and a clock that the test turns."""

    def __init__(self, path: Path, limit: int = 100) -> None:
        self.now = 100.0
        self.driver = VirtualDriver(["A1"])
        self._path, self._limit = path, limit
        self.switch_on()

    def switch_on(self) -> None:
        self.journal = Journal(self._path, self._limit)
        self.cabinet = Cabinet(["A1"], self.driver, self.journal, lambda _: None)

    async def look(self, times: int = 1) -> None:
        for _ in range(times):
            self.now += LOOK_SECONDS
            await self.cabinet.look()

    @property
    def state(self) -> DoorState:
        return self.cabinet.doors["A1"].state

    def said(self) -> list[str]:
        return [one.happened.happening.value for one in self.journal.after(0, 1_000)]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    bench: Bench | None = None
    monkeypatch.setattr(module, "ticks", lambda: bench.now if bench else 100.0)
    bench = Bench(tmp_path / "journal", limit=4)
    yield bench
    bench.journal.close()


async def test_when_the_journal_is_full_doors_stand_still_and_are_compared_again_later(bench: Bench) -> None:
    await bench.look()
    for _ in range(2):
        bench.driver.force_door("A1")
        await bench.look(3)
        bench.driver.close_door("A1")
        await bench.look(3)
    assert bench.said() == ["door_opened", "door_closed"] * 2
    bench.driver.force_door("A1")
    await bench.look(5)
    assert (bench.state, bench.journal.last) == (DoorState.CLOSED, 4)
    bench.journal.drop(4)
    await bench.look(2)
    assert (bench.state, bench.said()) == (DoorState.OPEN, ["door_opened"])


async def test_no_lock_is_released_before_its_command_is_written_down(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.look()

    def fails(*_: object) -> None:
        raise JournalError("journal_full")

    monkeypatch.setattr(bench.journal, "write", fails)
    with pytest.raises(JournalError):
        bench.cabinet.open("A1", "c1")
    await bench.look(20)
    assert (bench.driver.released, bench.state) == ([], DoorState.CLOSED)


async def test_a_board_that_starts_later_is_waited_for(bench: Bench) -> None:
    await bench.look()
    bench.cabinet.open("A1", "c1")
    await bench.look(3)
    assert bench.said() == ["unlocked", "door_opened"]
    bench.journal.close()
    bench.driver.powered = False
    bench.switch_on()
    await bench.look(8)
    assert (bench.state, bench.said()) == (DoorState.OPEN, ["unlocked", "door_opened"])
    bench.driver.close_door("A1")
    bench.driver.powered = True
    await bench.look()
    assert bench.said() == ["unlocked", "door_opened", "door_closed"]


async def test_a_door_that_was_being_opened_is_not_judged_before_its_board_answers(bench: Bench) -> None:
    bench.driver.jammed.add("A1")
    await bench.look()
    bench.cabinet.open("A1", "c1")
    await bench.look()
    bench.journal.close()
    bench.driver.powered = False
    bench.switch_on()
    await bench.look(8)
    assert (bench.state, bench.said()) == (DoorState.RELEASING, ["unlocked"])
    bench.driver.force_door("A1")
    bench.driver.powered = True
    await bench.look()
    assert [one.happened.command for one in bench.journal.after(0, 9)] == ["c1", "c1"]
    assert bench.said() == ["unlocked", "door_opened"]


async def test_a_board_that_stays_silent_after_a_restart_fails_what_was_being_opened(bench: Bench) -> None:
    bench.driver.jammed.add("A1")
    await bench.look()
    bench.cabinet.open("A1", "c1")
    await bench.look()
    bench.journal.close()
    bench.driver.powered = False
    bench.switch_on()
    await bench.look(45)
    assert (bench.state, bench.said()) == (DoorState.CLOSED, ["unlocked", "lock_failed"])


async def test_a_door_that_was_never_read_takes_no_command(bench: Bench) -> None:
    bench.driver.powered = False
    await bench.look()
    bench.cabinet.open("A1", "c1")
    bench.driver.powered = True
    await bench.look(3)
    assert (bench.said(), bench.driver.released) == (["command_refused"], [])


async def test_a_stuck_sensor_is_a_failure_after_the_lock_was_released(bench: Bench) -> None:
    bench.driver.stick_sensor("A1")
    await bench.look()
    bench.cabinet.open("A1", "c1")
    await bench.look(60)
    assert bench.said() == ["unlocked", "lock_failed"]
    assert bench.driver.is_open("A1")


async def test_without_power_a_lock_fails_without_having_been_released(bench: Bench) -> None:
    await bench.look()
    bench.driver.powered = False
    bench.cabinet.open("A1", "c1")
    await bench.look(60)
    assert (bench.said(), bench.driver.released) == (["lock_failed"], [])


async def test_a_board_that_stood_still_before_it_released_a_lock_does_not_release_it(bench: Bench) -> None:
    await bench.look()
    bench.cabinet.open("A1", "c1")
    bench.now += 3600  # whoever waited before the door is gone
    await bench.look(3)
    assert (bench.said(), bench.driver.released) == (["lock_failed"], [])
