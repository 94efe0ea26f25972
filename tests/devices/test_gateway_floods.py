"""One box that says too much: the others are served as ever, and a person hears of it."""

import asyncio
import time
from datetime import UTC, datetime
from itertools import count

import pytest_asyncio
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from pickupbox.devices.aside import EXCERPT_BYTES, KEPT_OF_ONE
from pickupbox.devices.gateway import ERRANDS_OF_ONE, PINS_OF_ONE, Gateway
from pickupbox.devices.messages import Ack, Journaled, PinAnswer, PinEntered, RosterTaken
from pickupbox.devices.waiting import ENTRIES_OF_ONE
from pickupbox.devices.wire import MESSAGE_BYTES, encode, topic
from pickupbox.domain.doors import Happening, Verdict
from pickupbox.usecases.core import Core
from tests.devices.street import Box, add_device, ask, pin_of, revoke
from tests.support.shop import Shop
from tests.support.waiting import until

NOW = datetime.now(UTC)
PINS = encode(PinEntered(id="flood", at=NOW, pin="000000"))
ROSTERS = encode(RosterTaken(id="flood", at=NOW, version=1))
ENTRY = encode(Journaled(id="flood", at=NOW, boot="b", seq=7, happening=Happening.STARTED))


def dropped(kind: str) -> float:
    return REGISTRY.get_sample_value("pickupbox_device_messages_dropped_total", {"kind": kind}) or 0.0


@pytest_asyncio.fixture
async def flooder(shop: Shop) -> str:
    return await add_device(shop, await shop.add_box())


async def test_a_pin_is_answered_at_once_while_another_box_floods(
    shop: Shop, service: Gateway, box: Box, flooder: str
) -> None:
    pin = await pin_of(shop, await shop.reserved())
    for _ in range(10_000):
        service.take(topic(flooder, PinEntered), PINS)
    begun = time.monotonic()
    answer = await box.hear(PinAnswer, 3, about=await box.say(PinEntered, pin=pin))
    assert answer.verdict is Verdict.OPENING
    assert time.monotonic() - begun < 2


async def test_the_pins_of_one_box_are_judged_one_after_the_other(core: Core, service: Gateway, flooder: str) -> None:
    for _ in range(20):
        service.take(topic(flooder, PinEntered), PINS)
    most = 0
    while service._tasks:
        most = max(most, len(service._tasks))
        await asyncio.sleep(0)
    assert most == 1


async def test_entries_are_taken_while_another_box_floods(service: Gateway, box: Box, flooder: str) -> None:
    async def flood() -> None:
        """It fills whatever place there is before anyone else speaks."""
        for number in count():
            service.take(topic(flooder, Journaled), ENTRY)
            if number > 20_000 and number % 20 == 0:
                await asyncio.sleep(0)

    flooding = asyncio.create_task(flood())
    try:
        await box.deliver([box.write(Happening.STARTED) for _ in range(3)], 10)
    finally:
        flooding.cancel()


async def test_what_is_dropped_is_counted_and_told_once_a_minute_of_each_box(core: Core, flooder: str) -> None:
    """Nobody works anything off here, so it is known how much there is room for."""
    unconnected, before = Gateway(core), {kind: dropped(kind) for kind in ("pin", "roster", "event")}
    with capture_logs() as lines:
        for device in (flooder, core.new_id("dev")):
            for _ in range(ENTRIES_OF_ONE + 10):
                for kind, payload in ((PinEntered, PINS), (RosterTaken, ROSTERS), (Journaled, ENTRY)):
                    unconnected.take(topic(device, kind), payload)
    assert {kind: dropped(kind) - count for kind, count in before.items()} == {
        "pin": 2 * (ENTRIES_OF_ONE + 10 - PINS_OF_ONE),
        "roster": 2 * (ENTRIES_OF_ONE + 10 - ERRANDS_OF_ONE),
        "event": 2 * 10,
    }
    told = [line for line in lines if line["event"] == "device_messages_dropped"]
    assert len(told) == len({line["device"] for line in told}) == 2
    await until(lambda: not unconnected._tasks, 10)


def set_aside_so_far() -> float:
    return REGISTRY.get_sample_value("pickupbox_messages_set_aside_total") or 0.0


async def kept_of(core: Core, device: str) -> list[int]:
    """The length of each message of the device that was kept."""
    rows = await ask(core, "SELECT length(payload) FROM set_aside WHERE topic LIKE '%' || $1 || '%'", device)
    return [length for (length,) in rows]


async def test_of_a_flood_of_nonsense_a_little_is_kept_and_told_and_all_is_counted(
    core: Core, service: Gateway, box: Box, flooder: str
) -> None:
    before, nonsense = set_aside_so_far(), b"x" * MESSAGE_BYTES
    with capture_logs() as lines:
        for _ in range(2000):
            service.take(topic(flooder, Journaled), nonsense)
        await box.send_raw("event", nonsense)
        await until(lambda: kept_of(core, box.device), 5)
    assert set_aside_so_far() - before == 2001
    assert await kept_of(core, flooder) == [EXCERPT_BYTES] * KEPT_OF_ONE
    told = [line["topic"] for line in lines if line["event"] == "message_set_aside"]
    assert sorted(told) == sorted([topic(flooder, Journaled)] * KEPT_OF_ONE + [topic(box.device, Journaled)])


async def test_a_journal_that_cannot_be_read_is_passed_over_and_a_little_of_it_kept(core: Core, box: Box) -> None:
    entries = [box.write(Happening.STARTED) for _ in range(KEPT_OF_ONE + 20)]
    with capture_logs() as lines:
        for entry in entries:
            await box.send_raw("event", encode(entry).replace(b"started", b"exploded"))
        await box.hear(Ack, boot=box.boot, seq=len(entries))
    assert len(await kept_of(core, box.device)) == KEPT_OF_ONE
    assert len([line for line in lines if line["event"] == "message_set_aside"]) == KEPT_OF_ONE


async def test_of_an_unknown_or_revoked_device_nothing_is_kept(
    shop: Shop, core: Core, service: Gateway, box: Box, flooder: str
) -> None:
    await revoke(shop, flooder)
    strangers = (flooder, core.new_id("dev"))
    with capture_logs() as lines:
        for device in (*strangers, box.device):
            service.take(topic(device, Journaled), b"nonsense")
            service.take(topic(device, Journaled), ENTRY.replace(b"started", b"exploded"))
        service.take("nonsense", b"nonsense")
        await until(lambda: kept_of(core, box.device), 5)
    assert [await kept_of(core, device) for device in strangers] == [[], []]
    assert not [line for line in lines if any(device in str(line.get("topic")) for device in strangers)]
