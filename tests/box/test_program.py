"""The program in the box, through a real broker, against a scripted service."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiomqtt
import pytest

from pickupbox.box import link
from pickupbox.box.doors import Happened
from pickupbox.box.journal import Journal
from pickupbox.devices import wire
from pickupbox.devices.messages import Ack, Certificate, Heartbeat, Presence, RefusedByBox, Resend
from pickupbox.domain.doors import Happening
from tests.box.street import Broker, Running, Service, a_box, a_service, new_device, settings_for
from tests.support.waiting import until

CYCLE = [("unlocked", "A1"), ("door_opened", "A1")]


@asynccontextmanager
async def street(broker: Broker, folder: Path, **manners: Any) -> AsyncIterator[tuple[Service, Running]]:
    """A service and a box that knows the service's clock."""
    device = new_device()
    async with a_service(broker, device, **manners) as service, a_box(settings_for(broker, folder, device)) as running:
        if service.acknowledges:
            await until(lambda: running.box.journal.acked >= 1)
        yield service, running


async def test_a_command_opens_the_door_and_the_journal_says_so_and_is_dropped(broker: Broker, tmp_path: Path) -> None:
    async with street(broker, tmp_path) as (service, running):
        command = service.opening("A1")
        await service.tell(command)
        await until(lambda: service.said() == CYCLE)
        running.driver.close_door("A1")
        await until(lambda: service.said() == [*CYCLE, ("door_closed", "A1")])
        await until(lambda: running.box.journal.waiting == 0)
        (taken,) = service.taken.values()
        assert [one.command for one in taken] == [None, command.id, command.id, command.id]
        assert service.entries() == [1, 2, 3, 4]


async def test_a_command_that_comes_twice_opens_once(broker: Broker, tmp_path: Path) -> None:
    async with street(broker, tmp_path) as (service, running):
        command = service.opening("A1")
        await service.tell(command, times=3)
        await until(lambda: service.said() == CYCLE)
        running.driver.close_door("A1")
        await until(lambda: len(service.said()) == 3)
        await service.tell(command)
        await service.tell(service.opening("A2"))
        await until(lambda: ("door_opened", "A2") in service.said())
        assert running.driver.released == ["A1", "A2"]
        assert len(service.said()) == 5


async def test_a_command_is_remembered_across_a_restart(broker: Broker, tmp_path: Path) -> None:
    device = new_device()
    async with a_service(broker, device) as service:
        async with a_box(settings_for(broker, tmp_path, device)) as running:
            await until(lambda: running.box.journal.acked >= 1)
            command = service.opening("A1")
            await service.tell(command)
            await until(lambda: service.said() == CYCLE)
        async with a_box(settings_for(broker, tmp_path, device)) as running:
            await until(
                lambda: [one.happening for one in service.taken[running.box.journal.boot]].count("started") == 2
            )
            await until(lambda: running.box.journal.waiting == 0)
            await service.tell(command)
            await service.tell(service.opening("A2"))
            await until(lambda: ("door_opened", "A2") in service.said())
            assert running.driver.released == ["A2"]


async def test_commands_are_refused_when_late_unknown_or_not_awaited(broker: Broker, tmp_path: Path) -> None:
    async with street(broker, tmp_path) as (service, running):
        refused = [service.opening("A1", seconds=-0.1), service.opening("Z9"), service.opening("A1", about="old")]
        for command in refused:
            await service.tell(command, times=2)
        await until(lambda: len(service.said()) == 3)
        (taken,) = service.taken.values()
        assert [(one.happening, one.command, one.reason) for one in taken[1:]] == [
            (Happening.COMMAND_REFUSED, command.id, reason)
            for command, reason in zip(refused, ["expired", "unknown_compartment", "not_awaited"], strict=True)
        ]
        assert running.driver.released == []


@pytest.mark.parametrize("days", [-1, 1])
async def test_a_box_whose_clock_is_a_day_off_opens_in_time_and_not_late(
    broker: Broker, tmp_path: Path, days: int
) -> None:
    async with street(broker, tmp_path, ahead=timedelta(days=days)) as (service, running):
        await service.tell(service.opening("A1", seconds=-0.1))
        await service.tell(service.opening("A2", seconds=5))
        await until(lambda: ("door_opened", "A2") in service.said())
        assert ("command_refused", "A1") in service.said()
        assert running.driver.released == ["A2"]


async def test_a_command_is_refused_while_the_clock_is_not_known(broker: Broker, tmp_path: Path) -> None:
    async with street(broker, tmp_path, acknowledges=False) as (service, running):
        await until(lambda: service.entries() == [1])
        await service.tell(service.opening("A1"))
        await until(lambda: ("command_refused", "A1") in service.said())
        (taken,) = service.taken.values()
        assert taken[-1].reason == "clock_unknown"
        assert running.driver.released == []


async def test_an_acknowledgement_from_before_the_restart_does_not_set_the_clock(
    broker: Broker, tmp_path: Path
) -> None:
    async with street(broker, tmp_path, acknowledges=False) as (service, running):
        await until(lambda: service.entries() == [1])
        await service.tell(service.new(Ack, boot=running.box.journal.boot, seq=1, about="of_an_earlier_process"))
        await until(lambda: running.box.journal.waiting == 0)
        await service.tell(service.opening("A1"))
        await until(lambda: ("command_refused", "A1") in service.said())
        assert running.driver.released == []


async def test_a_gap_is_filled_by_sending_once_more_in_order(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "RESEND_SECONDS", 60.0)
    fill(tmp_path, 45)
    async with street(broker, tmp_path, loses={3, 4, 20}) as (service, running):
        await until(lambda: running.box.journal.waiting == 0)
        (taken,) = service.taken.values()
        assert [one.seq for one in taken] == list(range(1, 47))
        # Each entry behind the gap asked for it again; it was sent once more.
        assert service.entries() == [*range(1, 47), *range(3, 47)]


def fill(folder: Path, count: int) -> None:
    """What happened while there was no network."""
    journal = Journal(folder / "journal", 50_000)
    journal.write([Happened(Happening.DOOR_CLOSED, f"A{number % 3 + 1}", f"c{number}") for number in range(count)])
    journal.close()


async def test_at_most_fifty_entries_are_under_way(broker: Broker, tmp_path: Path) -> None:
    fill(tmp_path, 200)
    async with street(broker, tmp_path, acknowledges=False) as (service, running):
        await until(lambda: len(service.entries()) == 50)
        boot, about = running.box.journal.boot, service.heard[-1].id
        await service.tell(service.new(Ack, boot=boot, seq=10, about=about))
        await until(lambda: len(service.entries()) == 60)
        assert service.entries() == list(range(1, 61))
        await service.tell(service.new(Resend, boot=boot, seq=55))
        await until(lambda: len(service.entries()) == 65)
        assert service.entries()[60:] == list(range(56, 61))
        service.acknowledges = True
        await service.tell(service.new(Ack, boot=boot, seq=60, about=about))
        await until(lambda: running.box.journal.waiting == 0)


@pytest.mark.slow
async def test_without_an_acknowledgement_the_oldest_entry_asks_again(broker: Broker, tmp_path: Path) -> None:
    fill(tmp_path, 9)
    async with street(broker, tmp_path, acknowledges=False) as (service, running):
        await until(lambda: len(service.entries()) == 10)
        await until(lambda: len(service.entries()) > 10, seconds=8)
        assert service.entries()[10:] == [1]
        service.acknowledges = True
        await until(lambda: running.box.journal.waiting == 0, seconds=20)


async def test_what_happens_without_a_network_arrives_when_the_broker_is_back(broker: Broker, tmp_path: Path) -> None:
    device = new_device()
    async with a_box(settings_for(broker, tmp_path, device)) as running:
        async with a_service(broker, device) as service:
            await until(lambda: running.box.journal.last >= 1 and running.box.journal.waiting == 0)
            await service.tell(service.opening("A1"))
            await until(lambda: running.box.journal.acked == 3)
        broker.kill()
        await until(lambda: not running.box.link.connected)
        running.driver.close_door("A1")
        await until(lambda: running.box.journal.last == 4)
        running.driver.force_door("A2")
        await until(lambda: running.box.journal.last == 5)
        broker.start()
        async with a_service(broker, device, taken=service.taken) as service:
            await until(lambda: running.box.journal.waiting == 0)
            arrived = [
                (one.seq, one.happening.value, one.compartment) for one in service.heard if hasattr(one, "happening")
            ]
            assert arrived == [(4, "door_closed", "A1"), (5, "door_opened", "A2")]


async def test_after_a_broken_connection_all_that_is_not_acknowledged_goes_again(
    broker: Broker, tmp_path: Path
) -> None:
    fill(tmp_path, 5)
    async with street(broker, tmp_path, acknowledges=False) as (service, running):
        await until(lambda: service.entries() == list(range(1, 7)))
        # Whoever comes with the same client id is given the session, and the box is thrown out.
        async with aiomqtt.Client(
            "127.0.0.1", broker.port, identifier=service.device, protocol=aiomqtt.ProtocolVersion.V5
        ):
            await until(lambda: not running.box.link.connected)
        await until(lambda: len(service.entries()) >= 12)
        assert service.entries() == [*range(1, 7), *range(1, 7)]


async def test_a_lock_that_jams_is_reported_after_three_tries(broker: Broker, tmp_path: Path) -> None:
    async with street(broker, tmp_path) as (service, running):
        running.driver.jammed.add("A1")
        await service.tell(service.opening("A1"))
        await until(lambda: ("lock_failed", "A1") in service.said())
        assert service.said() == [("unlocked", "A1"), ("lock_failed", "A1")]
        assert running.driver.released == ["A1"] * 3


async def test_what_is_not_known_is_refused(broker: Broker, tmp_path: Path) -> None:
    async with street(broker, tmp_path) as (service, _):
        topic = wire.topic(service.device, Ack).removesuffix("ack")
        for kind, payload in (("dance", b'{"id":"m1"}'), ("open", b'{"id":"m2"}'), ("ack", b"\xff"), ("open", b"[]")):
            await service.mqtt.publish(topic + kind, payload, qos=1)
        await service.tell(service.new(Certificate, about="x", chain="y"))
        await until(lambda: len([one for one in service.heard if isinstance(one, RefusedByBox)]) == 5)
        refusals = [one for one in service.heard if isinstance(one, RefusedByBox)]
        assert [one.about for one in refusals[:4]] == ["m1", "m2", None, None]
        assert "unknown kind" in refusals[0].reason
        await service.tell(service.opening("A1"))
        await until(lambda: ("door_opened", "A1") in service.said())


async def test_presence_and_heartbeats_tell_that_the_box_lives(broker: Broker, tmp_path: Path) -> None:
    device = new_device()
    async with a_service(broker, device) as service:
        async with a_box(settings_for(broker, tmp_path, device)) as running:
            await until(lambda: running.box.journal.acked >= 1)
            await service.tell(service.opening("A1"))
            await until(lambda: any(isinstance(one, Heartbeat) and one.open_doors == ["A1"] for one in service.heard))
            beat = [one for one in service.heard if isinstance(one, Heartbeat)][-1]
            assert (beat.boot, beat.seq) == (running.box.journal.boot, 3)
        await until(lambda: [one.online for one in service.heard if isinstance(one, Presence)] == [True, False])
    async with a_service(broker, device) as later:
        await until(lambda: [one.online for one in later.heard if isinstance(one, Presence)] == [False])  # retained


async def test_the_broker_keeps_what_was_said_while_the_box_was_away(broker: Broker, tmp_path: Path) -> None:
    device = new_device()
    async with a_service(broker, device, acknowledges=False) as service:
        async with a_box(settings_for(broker, tmp_path, device)) as running:
            await until(lambda: service.entries() == [1])
            boot = running.box.journal.boot
        await service.tell(service.new(Ack, boot=boot, seq=1, about=service.heard[-1].id))
        async with a_box(settings_for(broker, tmp_path, device)) as running:
            await until(lambda: running.box.journal.acked == 1)


async def test_a_journal_that_lost_its_end_goes_on_under_a_new_boot(broker: Broker, tmp_path: Path) -> None:
    async with street(broker, tmp_path, acknowledges=False) as (service, running):
        await until(lambda: service.entries() == [1])
        boot = running.box.journal.boot
        service.acknowledges = True
        await service.tell(service.new(Ack, boot=boot, seq=7, about=service.heard[-1].id))
        await until(lambda: running.box.journal.boot != boot and running.box.journal.waiting == 0)
        assert [one.happening for one in service.taken[running.box.journal.boot]] == [Happening.STARTED]


async def test_a_full_journal_opens_no_door_and_loses_nothing(broker: Broker, tmp_path: Path) -> None:
    device = new_device()
    fill(tmp_path, 900)
    settings = settings_for(broker, tmp_path, device, journal_entries=1_000)
    async with a_service(broker, device, acknowledges=False) as service, a_box(settings) as running:
        await until(lambda: len(service.entries()) == 50)
        await service.tell(service.new(Ack, boot=running.box.journal.boot, seq=0, about=service.heard[-1].id))
        command = service.opening("A1")
        await service.tell(command)
        await until(lambda: any(isinstance(one, RefusedByBox) and one.about == command.id for one in service.heard))
        assert running.driver.released == []
        running.driver.force_door("A2")
        await until(lambda: running.box.journal.last == 902)
        assert running.box.journal.after(901, 9)[0].happened == Happened(Happening.DOOR_OPENED, "A2")
