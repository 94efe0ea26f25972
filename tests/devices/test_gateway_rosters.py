"""Rosters over a real broker."""

from structlog.testing import capture_logs

from pickupbox.devices.messages import Ack, Heartbeat, Roster
from pickupbox.devices.values import NUMBERS_END
from pickupbox.usecases.core import Core
from tests.devices.street import Box, ask
from tests.support.shop import Shop
from tests.support.waiting import until


async def beat(box: Box, roster: int) -> str:
    return await box.say(Heartbeat, boot=box.boot, seq=box.seq, open_doors=[], software="test", roster=roster)


async def test_a_heartbeat_confirms_a_roster_when_the_boxs_own_word_was_lost(shop: Shop, core: Core, box: Box) -> None:
    await beat(box, 0)
    await box.hear(Roster)
    await shop.cancel(await shop.reserved("A"))
    newest = "SELECT version FROM rosters WHERE box_id = $1 AND box_id NOT IN (SELECT box_id FROM roster_changes)"

    async def has_the_newest() -> bool:
        heard = [(roster.version,) for roster in box.heard(Roster)[-1:]]
        return heard != [] and heard == await ask(core, newest, shop.box_id)

    await until(has_the_newest, seconds=10)
    without_the_pin = box.heard(Roster)[-1]
    assert without_the_pin.grants == []
    withheld = "SELECT code FROM compartments WHERE box_id = $1 AND withheld_until IS NOT NULL"
    assert await ask(core, withheld, shop.box_id) == [("A1",)]
    await beat(box, without_the_pin.version)

    async def is_free() -> bool:
        return await ask(core, withheld, shop.box_id) == []

    await until(is_free, seconds=10)


async def test_a_roster_that_is_not_believed_is_told_once_a_minute_of_each_box(box: Box) -> None:
    with capture_logs() as lines:
        for _ in range(3):
            answer = await box.hear(Ack, about=await beat(box, NUMBERS_END - 1))
            assert answer.roster is None
    told = [line for line in lines if line["event"] == "roster_not_believed"]
    assert [(line["device"], line["version"]) for line in told] == [(box.device, NUMBERS_END - 1)]
    assert box.heard(Roster) == []
