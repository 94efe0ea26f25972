"""Which boxes are there: by the broker's word, put right by heartbeats, and honest about silence."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import aiomqtt
from prometheus_client import REGISTRY

from pickupbox.database import devices
from pickupbox.devices.gateway import Gateway
from pickupbox.devices.messages import Ack, Heartbeat, Presence
from pickupbox.devices.wire import encode, topic
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from pickupbox.usecases.devices import count_devices
from tests.box.street import a_box, settings_for
from tests.box.test_power import powered
from tests.devices.broker import Broker
from tests.devices.street import add_device, ask, box_at, gateway, revoke
from tests.support.shop import Shop
from tests.support.waiting import until

SECONDS = 15.0


async def presence_of(shop: Shop, device: str) -> str:
    async with shop.core.db.connection() as connection:
        return next(one.presence for one in await devices.list_devices(connection, shop.tenant) if one.id == device)


async def until_it_is(presence: str, shop: Shop, device: str) -> None:
    async def is_so() -> bool:
        return await presence_of(shop, device) == presence

    await until(is_so, SECONDS)


async def test_a_box_that_is_cut_off_is_offline_by_its_last_will(
    shop: Shop, service: Gateway, shared_broker: Broker, tmp_path: Path
) -> None:
    device = await add_device(shop)
    assert await presence_of(shop, device) == "never"
    with powered(shared_broker, tmp_path, device):  # type: ignore[arg-type]
        await until_it_is("online", shop, device)
    await until_it_is("offline", shop, device)
    with powered(shared_broker, tmp_path, device):  # type: ignore[arg-type]
        await until_it_is("online", shop, device)


async def test_a_box_that_leaves_in_order_says_so(
    shop: Shop, service: Gateway, shared_broker: Broker, tmp_path: Path
) -> None:
    device = await add_device(shop)
    async with a_box(settings_for(shared_broker, tmp_path, device)):  # type: ignore[arg-type]
        await until_it_is("online", shop, device)
    await until_it_is("offline", shop, device)


async def test_the_doors_that_a_heartbeat_calls_open_are_kept(
    shop: Shop, service: Gateway, on_broker: Settings
) -> None:
    async with box_at(on_broker, await add_device(shop)) as box:
        for open_doors in (["A1", "B2"], []):
            await box.say(Heartbeat, boot=box.boot, seq=0, open_doors=open_doors, software="test")
            await box.hear(Ack)
            assert await ask(shop.core, "SELECT open_doors FROM devices WHERE id = $1", box.device) == [(open_doors,)]


async def test_who_speaks_is_there_whatever_the_broker_said(shop: Shop, service: Gateway, on_broker: Settings) -> None:
    """The will of a connection that was replaced may be heard after the word of the new one."""
    async with box_at(on_broker, await add_device(shop)) as box:
        await box.beat()
        await box.say(Presence, online=True)
        await box.say(Presence, online=False)
        await until_it_is("offline", shop, box.device)
        await box.beat()
        await until_it_is("online", shop, box.device)
        await box.say(Presence, online=False)
        await box.beat()  # folded together: what was heard last counts
        assert await presence_of(shop, box.device) == "online"
        await box.say(Presence, online=False)
        await until_it_is("offline", shop, box.device)


async def test_who_was_not_heard_for_a_minute_is_silent(shop: Shop, service: Gateway, on_broker: Settings) -> None:
    async with box_at(on_broker, await add_device(shop)) as box:
        await box.beat()
        for seconds, presence in ((55, "online"), (10, "silent")):
            await ask(
                shop.core,
                "UPDATE devices SET last_seen_at = last_seen_at - make_interval(secs => $2) WHERE id = $1",
                box.device,
                float(seconds),
            )
            assert await presence_of(shop, box.device) == presence


async def test_a_revoked_device_does_not_come_back(shop: Shop, service: Gateway, on_broker: Settings) -> None:
    async with (
        box_at(on_broker, await add_device(shop)) as gone,
        box_at(on_broker, await add_device(shop, await shop.add_box())) as other,
    ):
        await revoke(shop, gone.device)
        await gone.say(Presence, online=True)
        await other.beat()
        await other.beat()
    assert await ask(shop.core, "SELECT online FROM devices WHERE id = $1", gone.device) == [(False,)]


def counted(presence: str) -> float:
    return REGISTRY.get_sample_value("pickupbox_devices", {"presence": presence}) or 0.0


async def test_the_metric_counts_who_is_there(shop: Shop, service: Gateway, on_broker: Settings) -> None:
    # Boxes of earlier tests are silent already, so that none of them becomes it meanwhile.
    await ask(shop.core, "UPDATE devices SET last_seen_at = last_seen_at - interval '1 hour' RETURNING id")
    await count_devices(shop.core)
    before = {presence: counted(presence) for presence in ("online", "offline", "never")}
    async with (
        box_at(on_broker, await add_device(shop)) as here,
        box_at(on_broker, await add_device(shop, await shop.add_box())) as away,
    ):
        await add_device(shop, await shop.add_box())
        await here.beat()
        await away.beat()
        await away.say(Presence, online=False)
        await until_it_is("offline", shop, away.device)
    await count_devices(shop.core)
    assert {presence: counted(presence) - was for presence, was in before.items()} == {
        "online": 1,
        "offline": 1,
        "never": 1,
    }


async def test_a_gateway_that_starts_is_not_told_what_was_retained(
    shop: Shop, core: Core, on_broker: Settings, shared_broker: Broker
) -> None:
    """The state of 25,000 boxes at every start, none of it newer than what the database has."""
    device = await add_device(shop)
    async with client(shared_broker) as before, client(shared_broker) as reader:
        await before.publish(topic(device, Presence), encode(presence(online=True)), qos=1, retain=True)
        await reader.subscribe(topic(device, Presence), qos=1)
        async with asyncio.timeout(SECONDS):
            assert (await anext(aiter(reader.messages))).retain  # whoever subscribes alone is told
    async with gateway(core, on_broker), box_at(on_broker, await add_device(shop, await shop.add_box())) as box:
        for _ in range(3):
            await box.beat()  # a fold of the gateway has passed
    assert await ask(core, "SELECT online FROM devices WHERE id = $1", device) == [(False,)]


def presence(*, online: bool) -> Presence:
    return Presence(id="m1", at=datetime.now(UTC), online=online)


def client(broker: Broker) -> aiomqtt.Client:
    return aiomqtt.Client("127.0.0.1", broker.port, protocol=aiomqtt.ProtocolVersion.V5, timeout=10)
