"""The gateway over a real broker: what boxes hear to what they say."""

import asyncio
from datetime import UTC, datetime, timedelta

from structlog.testing import capture_logs

from pickupbox.devices.gateway import Gateway
from pickupbox.devices.messages import (
    Ack,
    Heartbeat,
    Journaled,
    Message,
    Open,
    PinAnswer,
    PinEntered,
    RefusedByService,
    Resend,
)
from pickupbox.devices.wire import encode, topic
from pickupbox.domain.doors import Happening, Purpose, Verdict
from pickupbox.domain.lifecycle import Stage
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from pickupbox.usecases.keypad import enter_pin
from tests.devices.street import Box, add_device, ask, box_at, gateway, pin_of, place_of, revoke, stage_of, wrong_pin
from tests.support.shop import Shop
from tests.support.waiting import until

OPENED, CLOSED = Happening.DOOR_OPENED, Happening.DOOR_CLOSED
SOON = timedelta(seconds=5)


async def set_aside(core: Core, device: str) -> list[tuple[str, bytes, str]]:
    return await ask(
        core, "SELECT topic, payload, reason FROM set_aside WHERE topic LIKE '%' || $1 || '%' ORDER BY at", device
    )


async def type_in(box: Box, pin: str) -> PinAnswer:
    answer: PinAnswer = await box.hear(PinAnswer, about=await box.say(PinEntered, pin=pin))
    return answer


async def test_a_heartbeat_is_acknowledged_with_the_time_of_the_service(shop: Shop, box: Box) -> None:
    answer = await box.beat()
    assert (answer.boot, answer.seq, answer.environment) == (box.boot, 0, shop.core.environment)
    assert abs(answer.at - datetime.now(UTC)) < SOON
    ((seen, software),) = await ask(shop.core, "SELECT last_seen_at, software FROM devices WHERE id = $1", box.device)
    assert abs(seen - datetime.now(UTC)) < SOON
    assert software == "test"


async def test_a_heartbeat_that_tells_of_unread_entries_is_answered_by_a_resend(box: Box) -> None:
    entries = [box.write(Happening.STARTED), box.write(Happening.UNLOCKED, "1")]
    await box.beat()
    assert (await box.hear(Resend, boot=box.boot)).seq == 0
    await box.deliver(entries)
    assert (await box.beat()).seq == 2
    assert box.heard(Resend) == []


async def test_from_the_pin_to_the_parcel_in_the_box(shop: Shop, box: Box) -> None:
    shipment = await shop.reserved()
    _, code = await place_of(shop.core, shipment)
    about = await box.say(PinEntered, pin=await pin_of(shop, shipment))
    answer, opening = await box.hear(PinAnswer, about=about), await box.hear(Open)
    assert (answer.verdict, answer.compartment, answer.closed_seconds) == (Verdict.OPENING, code, None)
    assert (opening.compartment, opening.purpose, opening.about) == (code, Purpose.LOAD, about)
    assert timedelta(seconds=25) < opening.expires_at - datetime.now(UTC) <= timedelta(seconds=30)
    await box.deliver([box.write(happening, code, opening.id) for happening in (Happening.UNLOCKED, OPENED, CLOSED)])
    assert await stage_of(shop.core, shipment) == Stage.PROTECTED
    ((sent,),) = await ask(shop.core, "SELECT sent_at IS NOT NULL FROM door_commands WHERE id = $1", opening.id)
    assert sent


async def test_a_wrong_pin_is_refused_and_five_close_the_keypad(shop: Shop, box: Box) -> None:
    pin = await pin_of(shop, await shop.reserved())
    answers = [await type_in(box, wrong_pin(pin)) for _ in range(5)]
    assert {answer.verdict for answer in answers} == {Verdict.REFUSED}
    assert [answer.closed_seconds for answer in answers] == [None] * 4 + [60]
    closed = await type_in(box, pin)
    assert closed.verdict is Verdict.CLOSED
    assert closed.compartment is None
    assert box.heard(Open) == []


async def test_duplicates_are_acknowledged_and_a_gap_is_asked_for(shop: Shop, box: Box) -> None:
    first, second, third = box.write(Happening.STARTED), box.write(OPENED, "1"), box.write(CLOSED, "1")
    await box.send(third)
    assert (await box.hear(Resend)).seq == 0
    await box.deliver([first, second])
    await box.send(first)
    assert (await box.hear(Ack, about=first.id)).seq == 2
    await box.send(third)
    assert (await box.hear(Ack, about=third.id)).seq == 3


async def test_an_unknown_kind_is_refused_and_set_aside_and_the_next_message_is_taken(shop: Shop, box: Box) -> None:
    await box.send_raw("telepathy", b'{"id":"m-1","at":"2031-01-01T00:00:00Z"}')
    refusal = await box.hear(RefusedByService)
    assert (refusal.about, refusal.reason) == ("m-1", "unknown kind 'telepathy'")
    await until(lambda: set_aside_count(shop.core, box.device, 1), 5)
    ((where, payload, reason),) = await set_aside(shop.core, box.device)
    assert where.endswith("/up/telepathy")
    assert payload == b'{"id":"m-#","at":"####-##-##T##:##:##Z"}'
    assert reason == refusal.reason
    await box.beat()


async def test_garbage_is_refused_and_set_aside_and_the_next_message_is_taken(shop: Shop, box: Box) -> None:
    for garbage in (b"", b"\xff\x00", b"[]", b'{"id":', b"{}" * 2000):
        await box.send_raw("event", garbage)
        refusal = await box.hear(RefusedByService)
        assert (refusal.about, refusal.reason[:6]) == (None, "event:")
    await until(lambda: set_aside_count(shop.core, box.device, 5), 5)
    await box.beat()


async def set_aside_count(core: Core, device: str, count: int) -> bool:
    return len(await set_aside(core, device)) == count


async def test_a_pin_in_a_message_that_cannot_be_read_is_kept_nowhere(shop: Shop, box: Box) -> None:
    pin = await pin_of(shop, await shop.reserved())
    broken = f'{{"id":"m","at":"2031-01-01T00:00:00Z","pin":"{pin}",'.encode()
    numeric = f'{{"id":"m","at":"2031-01-01T00:00:00Z","pin":{pin}}}'.encode()
    with capture_logs() as lines:
        for kind in ("pin", "keypad", "event"):
            for payload in (broken, numeric):
                await box.send_raw(kind, payload)
                assert pin not in (await box.hear(RefusedByService)).reason
        await type_in(box, pin)
        await type_in(box, wrong_pin(pin))
        await until(lambda: set_aside_count(shop.core, box.device, 6), 5)
    kept = await ask(shop.core, "SELECT topic, payload, reason FROM set_aside")
    assert not [row for row in kept if pin in str(row)]
    assert lines
    assert not [line for line in lines if pin in str(list(line.values()))]


async def test_an_entry_that_cannot_be_applied_is_set_aside_and_harms_no_other(
    shop: Shop, box: Box, on_broker: Settings
) -> None:
    other_box = await shop.add_box()
    bad, good = await shop.reserved("bad"), await shop.reserved("good", box_id=other_box)
    async with shop.core.db.connection() as connection:
        await connection.execute(
            f"ALTER TABLE shipments ADD CONSTRAINT planted CHECK (id <> '{bad}' OR stage = 'reserved')"
        )
    try:
        async with box_at(on_broker, await add_device(shop, other_box)) as other:
            opened = []
            for each, shipment in ((box, bad), (other, good)):
                await each.say(PinEntered, pin=await pin_of(shop, shipment))
                command = await each.hear(Open)
                opened.append(each.write(OPENED, command.compartment, command.id))
            await asyncio.gather(box.deliver(opened[:1]), other.deliver(opened[1:]))
    finally:
        async with shop.core.db.connection() as connection:
            await connection.execute("ALTER TABLE shipments DROP CONSTRAINT planted")
    assert (await stage_of(shop.core, bad), await stage_of(shop.core, good)) == (Stage.RESERVED, Stage.LOADING)
    ((where, payload, reason),) = await set_aside(shop.core, box.device)
    assert (where, payload) == (topic(box.device, Journaled), encode(opened[0]))
    assert reason.startswith("CheckViolationError")
    await box.deliver([box.write(CLOSED, opened[0].compartment, opened[0].command)])


async def test_a_revoked_or_unknown_device_is_not_answered(
    shop: Shop, box: Box, on_broker: Settings, service: Gateway
) -> None:
    async with box_at(on_broker, shop.core.new_id("dev")) as stranger:
        revoked = await add_device(shop, await shop.add_box())
        await revoke(shop, revoked)
        async with box_at(on_broker, revoked) as outlaw:
            for each in (stranger, outlaw):
                await each.send(each.write(OPENED, "1"))
                await each.say(Heartbeat, boot=each.boot, seq=1, open_doors=[], software="test")
                await each.say(PinEntered, pin="123456")
            await box.deliver([box.write(Happening.STARTED)])
            await box.beat()
            await box.beat()
            assert stranger.heard(Message) + outlaw.heard(Message) == []


async def test_a_command_whose_sender_died_is_sent_by_another_and_only_once(
    shop: Shop, core: Core, box: Box, on_broker: Settings
) -> None:
    """The PIN was judged and the command committed, and then whoever did it was gone."""
    judged = await enter_pin(core, box.device, await pin_of(shop, await shop.reserved()), None, "m")
    assert judged.command is not None
    async with gateway(core, on_broker):
        opening = await box.hear(Open, 10)
        assert (opening.id, opening.compartment) == (judged.command.id, judged.command.compartment_code)
        assert opening.expires_at - datetime.now(UTC) > timedelta(seconds=15)
        await box.beat()
        await box.beat()
        await box.beat()
    assert box.heard(Open) == []


async def test_a_command_that_has_expired_is_never_sent(shop: Shop, core: Core, box: Box) -> None:
    pin = await pin_of(shop, await shop.reserved())
    judged = [await enter_pin(core, box.device, pin, None, about) for about in ("late", "later")]
    assert judged[0].command is not None
    async with core.db.connection() as connection:
        await connection.execute(
            """
            UPDATE door_commands SET created_at = created_at - d, expires_at = expires_at - d
            FROM make_interval(secs => 31) AS d WHERE id = $1
            """,
            judged[0].command.id,
        )
    assert (await box.hear(Open, 10)).about == "later"
    assert box.heard(Open) == []


async def test_two_gateways_share_the_work_and_each_entry_counts_once(
    shop: Shop, core: Core, on_broker: Settings, service: Gateway
) -> None:
    async with gateway(core, on_broker) as second:
        shares = [listening_to(service), listening_to(second)]
        boxes = []
        for number in range(4):
            box_id = await shop.add_box()
            boxes.append((await shop.reserved(f"order-{number}", box_id=box_id), await add_device(shop, box_id)))

        async def load(shipment: str, device: str) -> None:
            async with box_at(on_broker, device) as box:
                await box.beat()
                await box.say(PinEntered, pin=await pin_of(shop, shipment))
                command = await box.hear(Open)
                happenings = (OPENED, CLOSED) * 3
                await box.deliver([box.write(happening, command.compartment, command.id) for happening in happenings])

        await asyncio.gather(*(load(shipment, device) for shipment, device in boxes))
    for shipment, _ in boxes:
        ((trail,),) = await ask(core, "SELECT trail FROM shipments WHERE id = $1", shipment)
        assert trail == ["reserve", *(["door_opened", "door_closed"] * 3)]
    assert all(shares), "one had all the work"
    assert not shares[0] & shares[1], "both had the same work"


def listening_to(one: Gateway) -> set[bytes]:
    """The heartbeats and PINs that the gateway takes from now on: what a box says once."""
    taken: set[bytes] = set()
    take = one.take

    def noted(topic_text: str, payload: bytes) -> None:
        if not topic_text.endswith(Journaled.kind):
            taken.add(payload)
        take(topic_text, payload)

    one.take = noted  # type: ignore[method-assign]
    return taken
