"""The gateway in trouble: broker, database or itself gone for a while. Nothing is lost, nothing counts twice."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from pickupbox.devices.gateway import Gateway
from pickupbox.devices.messages import Ack, Journaled, Message, Open, PinEntered, Resend
from pickupbox.devices.wire import encode, topic
from pickupbox.domain.doors import Happening
from pickupbox.domain.lifecycle import Stage
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core, open_core
from tests.devices.broker import Broker, mosquitto
from tests.devices.street import Box, Relay, add_device, ask, box_at, gateway, pin_of, relay, stage_of
from tests.support.databases import environment_of
from tests.support.processes import Process
from tests.support.shop import Shop
from tests.support.waiting import until

OPENED, CLOSED = Happening.DOOR_OPENED, Happening.DOOR_CLOSED


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with mosquitto(tmp_path, plain=True) as broker:
        yield broker


@pytest.fixture
def own_settings(settings: Settings, broker: Broker) -> Settings:
    return settings.model_copy(update={"mqtt_url": broker.service_url})


@pytest_asyncio.fixture
async def device(shop: Shop) -> str:
    return await add_device(shop)


@pytest_asyncio.fixture
async def database(settings: Settings) -> AsyncIterator[Relay]:
    """A way to the database that can be cut."""
    async with relay(settings.database_url) as made:
        yield made


async def open_door(shop: Shop, box: Box, shipment: str) -> tuple[str, str]:
    """Type the PIN; compartment and command of the door that opens."""
    await box.say(PinEntered, pin=await pin_of(shop, shipment))
    command = await box.hear(Open)
    return command.compartment, command.id


async def trail_of(core: Core, shipment: str) -> list[str]:
    ((trail,),) = await ask(core, "SELECT trail FROM shipments WHERE id = $1", shipment)
    return list(trail)


async def test_a_broker_that_was_killed_and_started_again_is_found_again(
    shop: Shop, core: Core, device: str, broker: Broker, own_settings: Settings
) -> None:
    shipment = await shop.reserved()
    async with gateway(core, own_settings):
        async with box_at(own_settings, device) as box:
            await box.beat()
            code, command = await open_door(shop, box, shipment)
            opened = box.write(OPENED, code, command)
            await box.deliver([opened])
        broker.kill()
        broker.start()
        async with box_at(own_settings, device) as again:
            again.boot, again.seq = box.boot, box.seq
            assert (await again.beat(30)).seq == 1
            await again.deliver([opened, again.write(CLOSED, code, command)])
    assert await trail_of(core, shipment) == ["reserve", "door_opened", "door_closed"]


async def test_a_command_that_the_broker_did_not_get_is_sent_when_it_is_back(
    shop: Shop, core: Core, device: str, broker: Broker, own_settings: Settings
) -> None:
    pin = await pin_of(shop, await shop.reserved())
    async with gateway(core, own_settings) as service:
        async with box_at(own_settings, device) as box:
            await box.beat()
        broker.kill()
        entered = PinEntered(id="m-1", at=(await now(core)), pin=pin)
        service.take(*said(device, entered))
        await until(lambda: has_commands(core, device, 1), 5)
        broker.start()
        async with box_at(own_settings, device) as again:
            assert (await again.hear(Open, 20)).about == "m-1"


async def now(core: Core) -> Any:
    ((at,),) = await ask(core, "SELECT now()")
    return at


def said(device: str, message: Message) -> tuple[str, bytes]:
    return topic(device, type(message)), encode(message)


async def has_commands(core: Core, device: str, count: int) -> bool:
    return len(await ask(core, "SELECT 1 FROM door_commands WHERE device_id = $1", device)) == count


class Mute(Gateway):
    """Dies after the commit, before it has said a word about it."""

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self.would_say: list[Message] = []

    async def _publish(self, device: str, message: Message, expiry: int | None = None) -> bool:
        self.would_say.append(message)
        await asyncio.Event().wait()
        return False


async def test_a_gateway_killed_between_commit_and_acknowledgement_doubles_nothing(
    shop: Shop, core: Core, device: str, on_broker: Settings
) -> None:
    shipment = await shop.reserved()
    async with box_at(on_broker, device) as box:
        async with gateway(core, on_broker):
            await box.beat()
            code, command = await open_door(shop, box, shipment)
        entries = [box.write(OPENED, code, command), box.write(CLOSED, code, command)]
        dying = Mute(core)
        running = asyncio.create_task(dying.run(on_broker, asyncio.Event()))
        try:
            await until(lambda: took(dying, box, entries), 10)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        assert box.heard(Ack) == []
        async with gateway(core, on_broker):
            await box.beat()
            await box.deliver(entries)
    assert await trail_of(core, shipment) == ["reserve", "door_opened", "door_closed"]


async def took(dying: Mute, box: Box, entries: list[Journaled]) -> bool:
    """Whether it has committed them all and would say so; they are sent until it has."""
    for entry in entries:
        await box.send(entry)
    await asyncio.sleep(0.1)
    return any(isinstance(said, Ack) and (said.boot, said.seq) == (box.boot, len(entries)) for said in dying.would_say)


async def test_a_database_that_is_away_for_a_moment_loses_nothing(
    shop: Shop, core: Core, device: str, on_broker: Settings, database: Relay
) -> None:
    shipment = await shop.reserved()
    behind = open_core(on_broker.model_copy(update={"database_url": database.url}))
    async with box_at(on_broker, device) as box, gateway(behind, on_broker):
        await box.beat()
        code, command = await open_door(shop, box, shipment)
        database.cut()
        opened, closed = box.write(OPENED, code, command), box.write(CLOSED, code, command)
        await box.send(opened)
        await box.send_raw("telepathy", b"{}")
        with pytest.raises(TimeoutError):
            await box.hear((Ack, Resend), 1.5, boot=box.boot)
        assert await stage_of(core, shipment) == Stage.RESERVED
        await database.mend()
        await box.deliver([opened, closed])
        assert (await box.beat()).seq == 2
    await behind.db.close()
    assert await trail_of(core, shipment) == ["reserve", "door_opened", "door_closed"]


async def test_a_loop_that_fails_is_begun_again(
    shop: Shop, core: Core, device: str, on_broker: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [ZeroDivisionError(), ZeroDivisionError()]

    async def broken(*_: Any) -> None:
        if failures:
            raise failures.pop()

    async with gateway(core, on_broker), box_at(on_broker, device) as box:
        await box.beat()
        monkeypatch.setattr("pickupbox.devices.gateway.take_entries", broken)
        monkeypatch.setattr("pickupbox.devices.gateway.take_past", broken)
        entry = box.write(Happening.STARTED)
        await box.send(entry)
        await until(lambda: asyncio.sleep(0, not failures), 5)
        monkeypatch.undo()
        await box.deliver([entry], 10)


@pytest.mark.slow
async def test_gateway_processes_killed_and_stopped_lose_nothing_and_end_within_five_seconds(
    shop: Shop, core: Core, device: str, own_settings: Settings, tmp_path: Path
) -> None:
    shipment = await shop.reserved()
    process = Process(["gateway"], environment_of(own_settings), tmp_path / "gateway.log")
    try:
        async with box_at(own_settings, device) as box:
            await box.beat(30)
            code, command = await open_door(shop, box, shipment)
            entries = [box.write(happening, code, command) for happening in (OPENED, CLOSED) * 10]
            delivering = asyncio.create_task(box.deliver(entries, 60))
            for _ in range(2):
                await box.beat(30)
                await asyncio.to_thread(process.kill)
                process.start()
            await delivering
            assert (await box.beat(30)).seq == 20
        begun = time.monotonic()
        await asyncio.to_thread(process.stop)
        assert time.monotonic() - begun < 5
    finally:
        if process._running.poll() is None:
            process.kill()
    assert await trail_of(core, shipment) == ["reserve", *(["door_opened", "door_closed"] * 10)]
    assert '"event":"gateway_stopped"' in (tmp_path / "gateway.log").read_text().replace(" ", "")


@pytest.mark.slow
async def test_a_process_that_waits_for_a_broker_ends_within_five_seconds(
    own_settings: Settings, broker: Broker, tmp_path: Path
) -> None:
    broker.kill()
    log = tmp_path / "gateway.log"
    process = Process(["gateway"], environment_of(own_settings), log)
    try:
        await until(lambda: asyncio.sleep(0, "gateway_waits" in log.read_text()), 20)
        begun = time.monotonic()
        await asyncio.to_thread(process.stop)
        assert time.monotonic() - begun < 5
    finally:
        if process._running.poll() is None:
            process.kill()
