"""Power cuts: a box process that is killed at the worst moments, and started again."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pickupbox.devices.messages import Journaled, Presence
from tests.box.street import COMPARTMENTS, Broker, a_service, new_device
from tests.support.waiting import until


class Child:
    """A box in a process of its own, and the hands at its doors."""

    def __init__(self, environment: dict[str, str], doors_open: tuple[str, ...]) -> None:
        command = [sys.executable, "-m", "tests.box.child", *doors_open]
        self._running = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, text=True)

    def hand(self, line: str) -> None:
        assert self._running.stdin is not None
        self._running.stdin.write(line + "\n")
        self._running.stdin.flush()

    def cut(self) -> None:
        self._running.kill()
        self._running.wait(10)
        assert self._running.stdin is not None
        self._running.stdin.close()


@contextmanager
def powered(broker: Broker, folder: Path, device: str, *doors_open: str) -> Iterator[Child]:
    environment = {
        **os.environ,
        "PICKUPBOX_BOX_DEVICE": device,
        "PICKUPBOX_BOX_COMPARTMENTS": ",".join(COMPARTMENTS),
        "PICKUPBOX_BOX_JOURNAL": str(folder / "journal"),
        "PICKUPBOX_BOX_MQTT_URL": f"mqtt://127.0.0.1:{broker.port}",
    }
    child = Child(environment, doors_open)
    try:
        yield child
    finally:
        child.cut()


async def test_a_power_cut_between_door_and_acknowledgement_loses_nothing(broker: Broker, tmp_path: Path) -> None:
    device = new_device()
    async with a_service(broker, device) as service:
        with powered(broker, tmp_path, device) as child:
            await until(lambda: service.entries() == [1])
            service.acknowledges = False
            await service.tell(command := service.opening("A1"))
            await until(lambda: len(service.said()) == 2)
            child.hand("close A1")
            await until(lambda: len(service.said()) == 3)
        await until(lambda: any(isinstance(one, Presence) and not one.online for one in service.heard))  # the last will
        service.taken = {boot: taken[:1] for boot, taken in service.taken.items()}  # the service lost it as well
        service.acknowledges = True
        with powered(broker, tmp_path, device):
            await until(lambda: len(service.said()) == 3)
            await until(
                lambda: [one.happening.value for each in service.taken.values() for one in each][-1] == "started"
            )
        (taken,) = service.taken.values()
        assert [(one.seq, one.happening.value, one.command) for one in taken] == [
            (1, "started", None),
            (2, "unlocked", command.id),
            (3, "door_opened", command.id),
            (4, "door_closed", command.id),
            (5, "started", None),
        ]


async def test_a_door_that_moved_while_the_power_was_out_is_reported_with_its_command(
    broker: Broker, tmp_path: Path
) -> None:
    device = new_device()
    async with a_service(broker, device) as service:
        with powered(broker, tmp_path, device):
            await until(lambda: service.entries() == [1])
            await service.tell(command := service.opening("A1"))
            await until(lambda: ("door_opened", "A1") in service.said())
        with powered(broker, tmp_path, device, "A2"):
            await until(lambda: len(service.said()) == 4)
        (taken,) = service.taken.values()
        assert [(one.happening.value, one.compartment, one.command) for one in taken[-2:]] == [
            ("door_closed", "A1", command.id),
            ("door_opened", "A2", None),
        ]


async def test_a_power_cut_while_a_lock_is_being_opened_is_a_failure_and_opens_nothing_later(
    broker: Broker, tmp_path: Path
) -> None:
    device = new_device()
    async with a_service(broker, device) as service:
        with powered(broker, tmp_path, device) as child:
            await until(lambda: service.entries() == [1])
            child.hand("jam A1")
            await service.tell(command := service.opening("A1"))
            await until(lambda: service.said() == [("unlocked", "A1")])
        with powered(broker, tmp_path, device):
            await until(lambda: len(service.said()) == 2)
            await service.tell(command)
            await service.tell(service.opening("A2"))
            await until(lambda: ("door_opened", "A2") in service.said())
        (taken,) = service.taken.values()
        failed = next(one for one in taken if one.happening.value == "lock_failed")
        assert (failed.command, failed.reason) == (command.id, "restarted")
        assert ("door_opened", "A1") not in service.said()


@pytest.mark.slow
async def test_ten_power_cuts_in_the_middle_of_work_leave_a_journal_without_gap_or_double(
    broker: Broker, tmp_path: Path
) -> None:
    device = new_device()
    async with a_service(broker, device) as service:
        for cut in range(10):
            starts = cut + 1
            with powered(broker, tmp_path, device) as child:
                await until(lambda: sum(one.happening == "started" for one in journal(service.taken)) == starts)  # noqa: B023
                before = len(journal(service.taken))
                child.hand("force A3")
                await service.tell(service.opening("A1"))
                await until(lambda: len(journal(service.taken)) > before + cut % 3)  # noqa: B023
        with powered(broker, tmp_path, device):
            await until(lambda: sum(one.happening == "started" for one in journal(service.taken)) == 11)
        assert len(service.taken) == 1
        for code in ("A1", "A3"):
            swings = [
                one.happening for one in journal(service.taken) if one.compartment == code and "door" in one.happening
            ]
            assert swings == ["door_opened", "door_closed"] * (len(swings) // 2) + ["door_opened"] * (len(swings) % 2)


def journal(taken: dict[str, list[Journaled]]) -> list[Journaled]:
    return [one for each in taken.values() for one in each]
