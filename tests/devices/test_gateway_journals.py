"""What is unusual at the gateway: entries that cannot be read, renewals, a group that nobody can join."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest_asyncio

from pickupbox.certificates import new_authority, read_authority
from pickupbox.devices.messages import Ack, Journaled, RefusedByService, RenewalAsked
from pickupbox.devices.wire import encode, place_of
from pickupbox.domain.doors import Happening
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from pickupbox.vault import Vault, new_secret, read_secrets
from tests.devices.street import Box, add_device, box_at, gateway
from tests.support.shop import Shop


@pytest_asyncio.fixture
async def box(shop: Shop, core: Core, on_broker: Settings) -> AsyncIterator[Box]:
    signing = replace(core, authority=read_authority(new_authority("Test", datetime.now(UTC))))
    async with gateway(signing, on_broker), box_at(on_broker, await add_device(shop)) as box:
        await box.beat()
        yield box


async def test_an_entry_that_cannot_be_read_does_not_stop_the_journal(box: Box) -> None:
    first, unreadable, third = (box.write(Happening.STARTED) for _ in range(3))
    await box.send(first)
    await box.hear(Ack, boot=box.boot, seq=1)
    await box.send_raw(Journaled.kind, encode(unreadable).replace(b"started", b"exploded"))
    await box.hear(RefusedByService, about=unreadable.id)
    await box.hear(Ack, boot=box.boot, seq=2)
    await box.send(third)
    await box.hear(Ack, boot=box.boot, seq=3)


async def test_an_unreadable_entry_that_comes_too_early_passes_nothing_over(box: Box) -> None:
    first, second = box.write(Happening.STARTED), box.write(Happening.STARTED)
    await box.send_raw(Journaled.kind, encode(second).replace(b"started", b"exploded"))
    await box.hear(RefusedByService, about=second.id)
    await box.send(first)
    await box.hear(Ack, boot=box.boot, seq=1)


def test_the_place_of_an_entry_is_read_only_if_it_has_its_form() -> None:
    assert place_of(b'{"boot": "b", "seq": 3, "happening": 7}') == ("b", 3)
    for payload in (
        b"",
        b"[]",
        b'{"boot": "b"}',
        b'{"boot": "", "seq": 1}',
        b'{"boot": "b", "seq": 0}',
        b'{"boot": 1, "seq": 1}',
        b'{"boot": "b", "seq": true}',
    ):
        assert place_of(payload) is None


async def test_a_renewal_that_cannot_be_read_is_refused(box: Box) -> None:
    asked = await box.say(RenewalAsked, request="not a request")
    await box.hear(RefusedByService, about=asked)


def test_the_group_that_gateways_share_is_a_secret_of_the_cell() -> None:
    one, other = (Vault(read_secrets(new_secret("k1"))) for _ in range(2))
    assert one.gateway_group() != other.gateway_group()
    assert len(one.gateway_group()) == 32
