"""The page of a virtual box: what a person does at it is what the street does, and the wire is the real one."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from pickupbox.box import doors
from pickupbox.box.page import play
from pickupbox.box.page.play import ProductionError
from pickupbox.devices.messages import PinEntered, Presence, RosterTaken
from tests.box.playing import KEY, OWN_PIN, PIN, a_page, roster, script
from tests.box.street import SECONDS, Broker, a_service, new_device, settings_for
from tests.support.waiting import until

CYCLE = [("unlocked", "A1"), ("door_opened", "A1"), ("door_closed", "A1")]


async def test_a_parcel_is_put_in_by_hand_and_the_service_hears_the_doors(broker: Broker, tmp_path: Path) -> None:
    async with a_page(broker, tmp_path) as page:
        assert page.shows("Enter your PIN")
        await page.type_in(PIN[:3])
        await until(lambda: page.state["display"]["typed"] == 3)
        await page.type_in(PIN[3:])
        await until(lambda: page.shows("Opening A1") and page.door("A1")["sensed"] == "open")
        assert (await page.act("put", door="A1")).status_code == 200
        assert (await page.act("close", door="A1")).status_code == 200
        await until(lambda: page.service.said() == CYCLE)
        await until(lambda: page.door("A1")["parcel"] and page.door("A1")["sensed"] == "closed")
        await page.type_in(PIN)
        await until(lambda: page.door("A1")["sensed"] == "open")
        await page.act("take", door="A1")
        await page.act("close", door="A1")
        await until(lambda: page.service.said() == CYCLE * 2)
        await until(lambda: not page.door("A1")["parcel"])


async def test_the_messages_are_shown_and_no_pin_among_them(broker: Broker, tmp_path: Path) -> None:
    async with a_page(broker, tmp_path) as page:
        await page.type_in("111111")
        await until(lambda: page.shows("Wrong PIN"))
        await page.type_in(PIN)
        await until(lambda: any(line["text"] == "#3 door_opened A1" for line in page.lines))
        shown = [(line["way"], line["kind"], line["text"]) for line in page.lines]
        assert ("up", "pin", "••••••") in shown
        assert ("down", "pin_answer", "refused") in shown
        assert ("down", "open", "A1 load") in shown
        assert [line["number"] for line in page.lines] == list(range(1, len(page.lines) + 1))
        assert sum(isinstance(message, PinEntered) for message in page.service.heard) == 2
        streamed = "\n".join(page.streamed)
        assert PIN not in streamed
        assert "111111" not in streamed


async def test_nothing_is_moved_through_a_closed_door(broker: Broker, tmp_path: Path) -> None:
    async with a_page(broker, tmp_path) as page:
        for name in ("put", "take"):
            refused = await page.act(name, door="A2")
            assert (refused.status_code, refused.json()) == (409, {"refused": "A2 is closed."})
        assert page.play.driver.holding == set()
        unknown = await page.act("close", door="Z9")
        assert unknown.json() == {"refused": "The box has no such compartment."}


async def test_a_cut_cable_breaks_off_without_a_goodbye_and_the_journal_waits(broker: Broker, tmp_path: Path) -> None:
    async with a_page(broker, tmp_path) as page:
        await page.type_in(PIN)
        await until(lambda: len(page.service.said()) == 2)
        await page.act("cable", on=False)
        await until(lambda: _presences(page.service.heard) == [True, False])
        await until(lambda: not page.state["connected"])
        await page.act("close", door="A1")
        await until(lambda: page.state["waiting"] == 1)
        await until(lambda: page.shows("No connection"))
        await page.type_in("111111")
        await until(lambda: page.shows("No answer"))
        await page.act("cable", on=True)
        await until(lambda: page.state["connected"] and page.service.said() == CYCLE)


def _presences(heard: list[object]) -> list[bool]:
    return [message.online for message in heard if isinstance(message, Presence)]


async def test_a_lost_answer_is_the_next_one_that_somebody_awaits(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pickupbox.box.program.PIN_SECONDS", 2)
    async with a_page(broker, tmp_path, heartbeat_seconds=0.2) as page:
        await page.act("lose", on=True)
        await until(lambda: page.state["loses"])
        beats = len([line for line in page.lines if line["kind"] == "ack"])
        await until(lambda: len([line for line in page.lines if line["kind"] == "ack"]) > beats + 2)
        assert page.state["loses"]
        await page.type_in("111111")
        await until(lambda: page.shows("No answer"))
        assert [line["kind"] for line in page.lines if line["lost"]] == ["pin_answer"]
        assert not page.state["loses"]
        await page.type_in("111111")
        await until(lambda: page.shows("Wrong PIN"))


async def test_a_jammed_lock_is_released_and_does_not_open(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors, "TRY_SECONDS", 0.2)
    async with a_page(broker, tmp_path) as page:
        await page.act("jam", door="A1", on=True)
        await page.type_in(PIN)
        await until(lambda: page.service.said() == [("unlocked", "A1"), ("lock_failed", "A1")])
        assert not page.door("A1")["open"]
        assert page.door("A1")["jammed"]
        await page.act("jam", door="A1", on=False)
        await page.type_in(PIN)
        await until(lambda: page.door("A1")["open"])


async def test_a_stuck_sensor_says_what_it_said_whatever_the_door_does(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doors, "TRY_SECONDS", 0.2)
    async with a_page(broker, tmp_path) as page:
        await page.act("stick", door="A1", on=True)
        await page.type_in(PIN)
        await until(lambda: page.service.said() == [("unlocked", "A1"), ("lock_failed", "A1")])
        await until(lambda: page.door("A1")["open"] and page.door("A1")["sensed"] == "closed")
        await page.act("stick", door="A1", on=True)  # once more: it still says what it said
        assert (await page.play.driver.read())["A1"] is False
        await page.act("stick", door="A1", on=False)
        await until(lambda: page.service.said()[2:] == [("door_opened", "A1")])


async def test_after_a_power_cut_the_program_starts_from_its_journal_and_the_doors_stay(
    broker: Broker, tmp_path: Path
) -> None:
    async with a_page(broker, tmp_path) as page:
        await page.type_in(PIN)
        await until(lambda: len(page.service.said()) == 2)
        await page.type_in("12")
        await page.act("power", on=False)
        await until(lambda: page.state["display"]["tone"] == "off")
        await until(lambda: _presences(page.service.heard) == [True, False])
        assert page.door("A1")["open"]
        assert page.door("A1")["sensed"] is None
        assert (await page.act("press", keys="1")).json() == {"refused": "There is no power."}
        await page.act("put", door="A1")
        await page.act("close", door="A1")
        await page.act("power", on=True)
        await until(lambda: page.service.said() == CYCLE)
        (taken,) = page.service.taken.values()
        assert [one.happening for one in taken].count("started") == 2
        await until(lambda: page.shows("Enter your PIN"))
        assert page.state["display"]["typed"] == 0
        assert page.door("A1")["parcel"]


async def test_the_power_may_go_and_come_while_the_cable_is_cut(broker: Broker, tmp_path: Path) -> None:
    async with a_page(broker, tmp_path) as page:
        await page.act("cable", on=False)
        await page.act("power", on=False)
        await page.act("power", on=False)
        await page.act("power", on=True)
        await until(lambda: page.shows("No connection"))
        assert not page.state["cable"]
        await page.act("cable", on=True)
        await until(lambda: page.state["connected"])


async def test_the_ring_counts_down_and_goes(broker: Broker, tmp_path: Path) -> None:
    async with a_page(broker, tmp_path) as page:
        await page.service.tell(roster(page.service, opens_in=timedelta(seconds=3)))
        await until(lambda: page.door("A2")["protected"])
        of = page.door("A2")["protected"]["of"]
        assert of in (3, 4)  # in whole seconds, rounded up
        for left in range(of, 0, -1):
            await until(lambda left=left: page.door("A2")["protected"] == {"left": left, "of": of})
        await until(lambda: page.door("A2")["protected"] is None)


async def test_without_network_a_known_pin_opens_and_the_display_names_the_door(broker: Broker, tmp_path: Path) -> None:
    async with a_page(broker, tmp_path) as page:
        await page.service.tell(roster(page.service, opens_in=timedelta(seconds=-60)))
        await until(lambda: any(isinstance(message, RosterTaken) for message in page.service.heard))
        await page.act("cable", on=False)
        await until(lambda: page.shows("No connection"))
        await page.type_in(OWN_PIN)
        await until(lambda: page.shows("Opening A2") and page.door("A2")["sensed"] == "open")
        await page.act("take", door="A2")
        await page.act("close", door="A2")
        await page.act("cable", on=True)
        await until(lambda: page.service.said() == [(happening, "A2") for happening, _ in CYCLE])
        assert KEY not in "\n".join(page.streamed)


async def test_until_the_service_says_sandbox_the_page_only_waits(broker: Broker, tmp_path: Path) -> None:
    async with a_page(broker, tmp_path, environment=None) as page:
        assert page.shows("One moment")
        refused = await page.act("press", keys="1")
        assert (refused.status_code, refused.json()["refused"]) == (
            409,
            "The service has not said yet that it is a sandbox.",
        )
        await page.service.tell(page.service.opening("A1"))
        await until(lambda: any(line["kind"] == "open" and line["lost"] for line in page.lines))
        script(page.service, "sandbox")
        await until(lambda: page.shows("Enter your PIN"))
        assert page.play.driver.released == []
        await page.service.tell(page.service.opening("A1"))
        await until(lambda: page.door("A1")["open"])


async def test_it_stops_when_the_service_is_production(broker: Broker, tmp_path: Path) -> None:
    device = new_device()
    async with a_service(broker, device) as service:
        script(service, "production")
        with pytest.raises(ProductionError, match=r"^the service is production: .* sandbox only$"):
            async with asyncio.timeout(SECONDS):
                await play.Play(settings_for(broker, tmp_path, device)).run()
        await until(lambda: _presences(service.heard) == [True, False])
