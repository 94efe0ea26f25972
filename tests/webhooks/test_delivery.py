"""Delivery: what a worker sends to a real receiver, and what it makes of the answers."""

import asyncio
import time

import pytest
from aiohttp import web
from standardwebhooks import Webhook, WebhookVerificationError
from structlog.testing import capture_logs

from pickupbox.api.schemas import PublicWebhookEvent
from pickupbox.domain.lifecycle import Event
from pickupbox.usecases.endpoints import disable_endpoint, enable_endpoint, rotate_secret
from pickupbox.webhooks import delivery as delivering_module
from pickupbox.webhooks.turns import AT_FIRST
from tests.support.shop import Shop
from tests.support.waiting import until
from tests.webhooks.receiving import (
    Received,
    Receiver,
    always,
    change,
    delivering,
    event_ids,
    fetch,
    subscribe,
    waiting,
)


async def all_told(shop: Shop, seconds: float = 5.0) -> None:
    async def none_waits() -> bool:
        return await waiting(shop.core, shop.tenant) == []

    await until(none_waits, seconds)


async def attempts_of(shop: Shop, columns: str) -> list[tuple[object, ...]]:
    return await fetch(
        shop.core, f"SELECT {columns} FROM webhook_attempts WHERE tenant_id = $1 ORDER BY at, number", shop.tenant
    )


def verifies(secret: str, received: Received) -> bool:
    try:
        Webhook(secret).verify(received.body, {name.lower(): value for name, value in received.headers.items()})
    except WebhookVerificationError:
        return False
    return True


async def test_every_event_arrives_in_order_signed_with_the_endpoints_secret(shop: Shop, receiver: Receiver) -> None:
    issued = await subscribe(shop, receiver.url)
    async with delivering(shop.core):
        shipment = await shop.reserved("A", "loaded", "picked_up", "door_available")
        got = await receiver.until(4)
        await all_told(shop)
    assert receiver.told() == [(shipment, kind) for kind in ("reserved", "loaded", "picked_up", "door_available")]
    assert [one.event["id"] for one in got] == await event_ids(shop.core, [shipment])
    for one in got:
        PublicWebhookEvent.model_validate_json(one.body, strict=True)
        assert verifies(issued.secret, one)
        assert one.headers["Service-Event-Id"] == one.headers["webhook-id"] == one.event["id"]
        assert one.headers["Service-Timestamp"] == one.headers["webhook-timestamp"]
        assert one.headers["Service-Signature"] == one.headers["webhook-signature"]
        assert one.headers["Content-Type"] == "application/json"


async def test_each_endpoint_gets_its_own_signature_and_its_own_types(
    shop: Shop, receiver: Receiver, other_receiver: Receiver
) -> None:
    one = await subscribe(shop, receiver.url, Event.EXPIRED)
    other = await subscribe(shop, other_receiver.url)
    async with delivering(shop.core):
        await shop.reserved("A", "expired")
        await other_receiver.until(3)
        await receiver.until(1)
        await all_told(shop)
    assert [kind for _, kind in receiver.told()] == ["expired"]
    assert [kind for _, kind in other_receiver.told()] == ["reserved", "expired", "door_available"]
    assert verifies(one.secret, receiver.got[0])
    assert not verifies(other.secret, receiver.got[0])
    assert verifies(other.secret, other_receiver.got[0])


async def test_during_a_rotation_both_secrets_verify_and_after_24_hours_the_new_one_alone(
    shop: Shop, receiver: Receiver
) -> None:
    issued = await subscribe(shop, receiver.url)
    async with delivering(shop.core):
        await shop.reserved("A")
        await receiver.until(1)
        fresh = await rotate_secret(shop.core, shop.caller, issued.id)
        assert fresh is not None
        ((overlap,),) = await fetch(
            shop.core,
            "SELECT extract(epoch FROM before_until - now())::float FROM webhook_endpoints WHERE id = $1",
            issued.id,
        )
        assert overlap == pytest.approx(24 * 3600, abs=10)
        await shop.reserved("B")
        await receiver.until(2)
        await change(shop.core, "UPDATE webhook_endpoints SET before_until = now() WHERE id = $1", issued.id)
        await shop.reserved("C")
        before, during, after = await receiver.until(3)
    assert [len(one.headers["Service-Signature"].split()) for one in (before, during, after)] == [1, 2, 1]
    assert [verifies(issued.secret, one) for one in (before, during, after)] == [True, True, False]
    assert [verifies(fresh, one) for one in (before, during, after)] == [False, True, True]


async def test_a_commit_wakes_the_worker_long_before_it_would_look_again(
    shop: Shop, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivering_module, "POLL_SECONDS", 30.0)
    await subscribe(shop, receiver.url)
    async with delivering(shop.core):
        await shop.reserved("A")
        await receiver.until(1)
        for number, order in enumerate("BCD", start=2):
            await shop.reserved(order)
            started = time.monotonic()
            await receiver.until(number, seconds=2)
            assert time.monotonic() - started < 0.5


async def test_work_that_nobody_announced_is_found_by_looking(shop: Shop, receiver: Receiver) -> None:
    endpoint = (await subscribe(shop, receiver.url)).id
    shipment = await shop.reserved("A")
    await change(
        shop.core, "UPDATE webhook_lanes SET due_at = now() + interval '1 hour' WHERE shipment_id = $1", shipment
    )
    async with delivering(shop.core):
        await asyncio.sleep(0.2)
        assert receiver.got == []
        await change(shop.core, "UPDATE webhook_lanes SET due_at = now() WHERE endpoint_id = $1", endpoint)
        await receiver.until(1, seconds=3)


async def test_a_new_endpoint_is_not_asked_for_more_than_a_few_at_a_time(shop: Shop, receiver: Receiver) -> None:
    release = asyncio.Event()

    async def hold(_: Received) -> web.Response:
        await release.wait()
        return web.Response()

    receiver.reply = hold
    await subscribe(shop, receiver.url)
    for order in range(12):
        await shop.reserved(f"order-{order}")
    async with delivering(shop.core):
        await receiver.until(AT_FIRST)
        await asyncio.sleep(0.3)
        assert receiver.most_at_once == AT_FIRST
        release.set()
        await receiver.until(12)


async def test_one_that_never_answers_does_not_hold_up_another(
    shop: Shop, receiver: Receiver, other_receiver: Receiver
) -> None:
    async def hang(_: Received) -> web.Response:
        await asyncio.sleep(9)
        return web.Response()

    receiver.reply = hang
    await subscribe(shop, receiver.url)
    await subscribe(shop, other_receiver.url)
    async with delivering(shop.core, concurrency=AT_FIRST + 1):
        for order in range(12):
            await shop.reserved(f"order-{order}")
        await other_receiver.until(12, seconds=5)
        assert len(receiver.got) == AT_FIRST


async def test_with_few_places_a_place_that_becomes_free_is_taken_at_once(
    shop: Shop, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivering_module, "POLL_SECONDS", 30.0)
    await subscribe(shop, receiver.url)
    for order in range(12):
        await shop.reserved(f"order-{order}")
    async with delivering(shop.core, concurrency=2):
        await receiver.until(12, seconds=5)
    assert receiver.most_at_once <= 2


async def test_every_attempt_is_kept_with_status_duration_and_the_first_bytes(shop: Shop, receiver: Receiver) -> None:
    async def slow_then_ok(_: Received) -> web.Response:
        if len(receiver.got) > 1:
            return web.Response(text="thanks")
        await asyncio.sleep(0.1)
        return web.Response(status=500, body=b"x" * 5000)

    receiver.reply = slow_then_ok
    await subscribe(shop, receiver.url)
    async with delivering(shop.core):
        await shop.reserved("A")
        await receiver.until(2)
        await all_told(shop)
    first, second = await attempts_of(shop, "number, outcome, status, error, event_type, answer, milliseconds")
    assert first[:5] == (1, "failed", 500, None, "reserved")
    assert first[5] == "x" * 1024
    assert 100 <= first[6] < 2000
    assert second[:6] == (2, "accepted", 200, None, "reserved", "thanks")
    assert receiver.got[0].body == receiver.got[1].body


@pytest.mark.parametrize("answer", [b"\x00nul\x00", b"\xff\xfe\x80bad", b"\xed\xa0\x80", "é".encode() * 600, b""])
async def test_an_answer_of_any_bytes_is_kept_as_text(shop: Shop, receiver: Receiver, answer: bytes) -> None:
    receiver.reply = always(200, answer)
    await subscribe(shop, receiver.url)
    async with delivering(shop.core):
        await shop.reserved("A")
        await receiver.until(1)
        await all_told(shop)
    ((outcome, kept),) = await attempts_of(shop, "outcome, answer")
    assert outcome == "accepted"
    assert kept == answer[:1024].decode(errors="replace").replace("\0", "")


async def test_a_given_up_head_is_reported_and_its_lane_moves_on(shop: Shop, receiver: Receiver) -> None:
    async def refuse_reserved(received: Received) -> web.Response:
        return web.Response(status=500 if received.event["type"] == "reserved" else 200)

    receiver.reply = refuse_reserved
    endpoint = (await subscribe(shop, receiver.url)).id
    shipment = await shop.reserved("A", "expired")
    with capture_logs() as logs:
        async with delivering(shop.core, schedule=(0, 0.05, 0.05)):
            await receiver.until(5)
            await all_told(shop)
    assert [kind for _, kind in receiver.told()] == ["reserved"] * 3 + ["expired", "door_available"]
    given_up = [line for line in logs if line["event"] == "webhook_given_up"]
    (event_id, *_) = await event_ids(shop.core, [shipment])
    assert [(line["endpoint"], line["event_id"], line["log_level"]) for line in given_up] == [
        (endpoint, event_id, "warning")
    ]
    assert (3, "given_up") in await attempts_of(shop, "number, outcome")


async def test_a_disabled_endpoint_gets_nothing_and_goes_on_when_it_is_enabled(shop: Shop, receiver: Receiver) -> None:
    endpoint = (await subscribe(shop, receiver.url)).id
    before = await shop.reserved("A")
    await disable_endpoint(shop.core, shop.caller, endpoint, "by hand")
    await shop.reserved("B")
    async with delivering(shop.core):
        await asyncio.sleep(0.3)
        assert receiver.got == []
        await enable_endpoint(shop.core, shop.caller, endpoint)
        await receiver.until(1, seconds=0.9)
        after = await shop.reserved("C")
        await receiver.until(2)
    assert [shipment for shipment, _ in receiver.told()] == [before, after]
