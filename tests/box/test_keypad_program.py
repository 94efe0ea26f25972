"""PINs at the keypad, through a real broker, against a scripted service."""

from pathlib import Path

import pytest

from pickupbox.box import keypad, program
from pickupbox.box.clock import ticks
from pickupbox.devices.messages import Message, PinAnswer, PinEntered
from pickupbox.domain.doors import Verdict
from tests.box.street import Broker, Running, Service, a_box, a_service, new_device, settings_for
from tests.support.waiting import until


def judge(service: Service, right: str) -> None:
    """The service knows one PIN: it opens A1. As the gateway does, the command goes before the answer."""

    def answers(message: Message) -> list[Message]:
        if not isinstance(message, PinEntered):
            return []
        if message.pin != right:
            return [service.new(PinAnswer, about=message.id, verdict=Verdict.REFUSED)]
        opening = service.opening("A1", about=message.id)
        return [opening, service.new(PinAnswer, about=message.id, verdict=Verdict.OPENING, compartment="A1")]

    service.answers = answers


async def type_in(running: Running, keys: str) -> str:
    for key in keys:
        await running.box.press(key)
    return running.shown[-1]


async def test_a_right_pin_opens_and_a_wrong_one_does_not(broker: Broker, tmp_path: Path) -> None:
    device = new_device()
    async with a_service(broker, device) as service, a_box(settings_for(broker, tmp_path, device)) as running:
        judge(service, "123456")
        await until(lambda: running.box.journal.acked >= 1)
        assert await type_in(running, "111111") == Verdict.REFUSED
        assert await type_in(running, "123456") == Verdict.OPENING
        await until(lambda: ("door_opened", "A1") in service.said())
        assert running.driver.released == ["A1"]


async def test_a_pin_that_comes_twice_to_the_service_opens_once(broker: Broker, tmp_path: Path) -> None:
    device = new_device()
    async with a_service(broker, device) as service, a_box(settings_for(broker, tmp_path, device)) as running:
        await until(lambda: running.box.journal.acked >= 1)
        judge(service, "123456")
        once = service.answers
        service.answers = lambda message: once(message) + once(message)
        await type_in(running, "123456")
        await until(lambda: ("command_refused", "A1") in service.said() and ("door_opened", "A1") in service.said())
        (taken,) = service.taken.values()
        assert [one.reason for one in taken if one.happening == "command_refused"] == ["not_awaited"]
        assert running.driver.released == ["A1"]


async def test_a_pin_sets_the_clock_when_nothing_else_did(broker: Broker, tmp_path: Path) -> None:
    """A box that stood idle for weeks still opens: the command itself answers the question that the PIN was."""
    device = new_device()
    async with (
        a_service(broker, device, acknowledges=False) as service,
        a_box(settings_for(broker, tmp_path, device)) as running,
    ):
        judge(service, "123456")
        await until(lambda: running.box.link.connected)
        assert await type_in(running, "123456") == Verdict.OPENING
        await until(lambda: running.driver.is_open("A1"))


async def test_five_wrong_pins_close_the_keypad_also_after_a_restart(broker: Broker, tmp_path: Path) -> None:
    device = new_device()
    async with a_service(broker, device) as service:
        judge(service, "123456")
        async with a_box(settings_for(broker, tmp_path, device)) as running:
            await until(lambda: running.box.journal.acked >= 1)
            assert await type_in(running, "111111" * 5) == Verdict.REFUSED
            assert await type_in(running, "123456") == Verdict.CLOSED
        async with a_box(settings_for(broker, tmp_path, device)) as running:
            await until(lambda: running.box.link.connected)
            assert await type_in(running, "123456") == Verdict.CLOSED
            assert 50 < running.box.throttle.closed_seconds(ticks()) <= 60
        assert len([one for one in service.heard if isinstance(one, PinEntered)]) == 5


async def test_after_too_many_the_compartment_is_sent_along(broker: Broker, tmp_path: Path) -> None:
    device = new_device()
    async with a_service(broker, device) as service, a_box(settings_for(broker, tmp_path, device)) as running:
        await until(lambda: running.box.journal.acked >= 1)
        service.answers = lambda message: (
            [service.new(PinAnswer, about=message.id, verdict=Verdict.COMPARTMENT_NEEDED)]
            if isinstance(message, PinEntered)
            else []
        )
        assert await type_in(running, "123456") == Verdict.COMPARTMENT_NEEDED
        await type_in(running, f"A1{keypad.ENTER}123456")
        asked = [(one.pin, one.compartment) for one in service.heard if isinstance(one, PinEntered)]
        assert asked == [("123456", None), ("123456", "A1")]


async def test_without_an_answer_the_keypad_is_free_again_and_a_late_command_opens_nothing(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "PIN_SECONDS", 1)
    device = new_device()
    async with a_service(broker, device) as service, a_box(settings_for(broker, tmp_path, device)) as running:
        await until(lambda: running.box.journal.acked >= 1)
        assert await type_in(running, "123456") == program.NO_ANSWER
        (asked,) = [one for one in service.heard if isinstance(one, PinEntered)]
        await service.tell(service.opening("A1", about=asked.id))
        await until(lambda: ("command_refused", "A1") in service.said())
        assert running.driver.released == []


async def test_without_a_link_the_keypad_says_so_at_once(broker: Broker, tmp_path: Path) -> None:
    device = new_device()
    async with a_service(broker, device), a_box(settings_for(broker, tmp_path, device)) as running:
        await until(lambda: running.box.link.connected)
        broker.kill()
        await until(lambda: not running.box.link.connected)
        assert await type_in(running, "123456") == program.NO_ANSWER
