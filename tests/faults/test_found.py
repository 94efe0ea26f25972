"""What the run has found once, each as a small case of its own."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pickupbox.box import program
from pickupbox.box.alone import Alone
from pickupbox.box.clock import ServiceClock, ticks
from pickupbox.box.doors import DoorState, Happened
from pickupbox.box.journal import Journal
from pickupbox.box.roster import Now, purpose_now
from pickupbox.devices.messages import Ack, Message, PinEntered, Roster
from pickupbox.domain.doors import Happening, Purpose
from pickupbox.domain.grants import Grant, offline_command, read_grant, verifier_of, write_grant
from tests.box.street import Broker, a_box, a_service, new_device, settings_for
from tests.support.waiting import until

KEY = bytes(range(32))
MARK = "0123456789ab"
PIN = "123456"


def roster(purpose: Purpose, version: int = 1) -> Roster:
    until_tomorrow = datetime.now(UTC) + timedelta(days=1)
    granted = Grant("A1", purpose, MARK, datetime.fromtimestamp(0, UTC), until_tomorrow, verifier_of(KEY, PIN))
    return Roster(
        id="r", at=datetime.now(UTC), version=version, part=1, parts=1, key=KEY.hex(), grants=[write_grant(granted)]
    )


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal(tmp_path / "journal", 1000)
    yield journal
    journal.close()


@pytest.fixture
def alone(journal: Journal) -> Alone:
    """A box that may load by itself."""
    clock = ServiceClock()
    alone = Alone(journal, clock)
    assert alone.hear(roster(Purpose.LOAD))
    clock.sent("beat", ticks())
    now = datetime.now(UTC)
    clock.answered("beat", now, ticks())
    alone.lease(Ack(id="a", at=now, boot=journal.boot, seq=0, about="beat", roster=1))
    assert alone.judge(PIN, None) is not None
    return alone


def swing(alone: Alone, journal: Journal, command: str) -> None:
    for happening in (Happening.DOOR_OPENED, Happening.DOOR_CLOSED):
        happened = [Happened(happening, "A1", command)]
        journal.write(happened)
        alone.note(happened)


def test_a_customer_does_not_open_as_a_loader_by_a_roster_from_before_the_loading(
    alone: Alone, journal: Journal
) -> None:
    swing(alone, journal, "cmd_of_the_service")
    assert alone.judge(PIN, None) is None
    assert Alone(journal, ServiceClock()).judge(PIN, None) is None, "nor after a restart"
    assert alone.hear(roster(Purpose.LOAD, version=2))
    assert alone.judge(PIN, None) is None, "nor by a later roster from before the loading"
    assert alone.hear(roster(Purpose.PICK_UP, version=3))
    assert alone.judge(PIN, None) is not None


def test_who_loaded_without_network_corrects_until_the_service_has_heard_of_it(alone: Alone, journal: Journal) -> None:
    swing(alone, journal, offline_command(Purpose.LOAD, MARK, "00000000"))
    assert alone.judge(PIN, None) is not None
    journal.drop(journal.last)
    assert alone.judge(PIN, None) is None


def test_a_customer_in_the_first_second_does_not_correct() -> None:
    """A grant is written in whole seconds, rounded up; the service calls the customer before that."""
    available = datetime(2026, 11, 15, 12, 0, 0, 100_000, tzinfo=UTC)
    written = write_grant(Grant("A1", Purpose.PICK_UP, MARK, available, available + timedelta(days=1), "A" * 12))
    soon = available + timedelta(seconds=0.5)
    assert purpose_now(read_grant(written), Now(soon, soon, leased=True)) is None


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path)
    yield broker
    broker.kill()


async def test_a_door_that_was_opened_is_not_opened_again_because_the_answer_was_lost(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "PIN_SECONDS", 2)
    device = new_device()
    async with a_service(broker, device) as service, a_box(settings_for(broker, tmp_path, device)) as running:

        def only_opens(message: Message) -> list[Message]:
            return [service.opening("A1", about=message.id)] if isinstance(message, PinEntered) else []

        await until(lambda: running.box.journal.acked >= 1)
        await service.tell(roster(Purpose.PICK_UP))
        await until(lambda: running.box.alone.version == 1)
        service.answers = only_opens
        typing = asyncio.create_task(type_in(running.box))
        await until(lambda: ("door_opened", "A1") in service.said())
        running.driver.close_door("A1")
        await until(lambda: ("door_closed", "A1") in service.said())
        await typing
        assert running.shown == ["opening"]
        assert running.box.cabinet.doors["A1"].state is DoorState.CLOSED
        assert running.driver.released == ["A1"]


async def type_in(box: program.Box) -> None:
    for digit in PIN:
        await box.press(digit)
