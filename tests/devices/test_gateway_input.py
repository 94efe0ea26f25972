"""Bad input: whatever is said to the gateway, it goes on, and what it keeps of it holds no PIN."""

import os
import random
from collections.abc import Callable, MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from pickupbox.devices import aside
from pickupbox.devices.gateway import Gateway
from pickupbox.devices.messages import MESSAGES, Direction
from pickupbox.devices.wire import MESSAGE_BYTES, PREFIX
from pickupbox.domain.doors import Happening
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from tests.devices.golden import GOLDEN, payload
from tests.devices.street import add_device, ask, box_at, gateway
from tests.support.shop import Shop
from tests.support.waiting import until

CASES = int(os.environ.get("PICKUPBOX_GATEWAY_CASES", "10000"))
SEED = int(os.environ.get("PICKUPBOX_GATEWAY_SEED", "4"))
PIN = "731946"
KINDS = [kind.kind for kind in MESSAGES] + [
    "",
    "PIN",
    "pins",
    "+",
    "#",
    "$share",
    "e" * 65,
    "\0",
    "\ud800",
    "ü",
    "../up",
]
BYTES = [b"", b"\0", b"\xff\xfe", b"null", b"[" * 5000, b"{" * 5000, b"1e999", b'{"id":NaN}', b"9" * 9000]


def topics(rng: random.Random, device: str) -> str:
    if rng.random() < 0.1:
        return "".join(rng.choice("/+#$\0\ud800abc" + PREFIX) for _ in range(rng.randrange(300)))
    who = rng.choice([device, device, device, "dev_c1_" + "0" * 32, "dev", "", "+", "x" * 5000])
    return f"{PREFIX}/{who}/{rng.choice([*Direction, Direction.UP, Direction.UP, 'sideways'])}/{rng.choice(KINDS)}"


def random_bytes(rng: random.Random) -> bytes:
    return rng.choice(BYTES) if rng.random() < 0.5 else rng.randbytes(rng.randrange(2 * MESSAGE_BYTES))


def broken_golden(rng: random.Random) -> bytes:
    """A good message with some bytes changed, and a PIN that a newer box might send under another name."""
    good = bytearray(payload(rng.choice(list(GOLDEN)))[:-1] + f',"pin2":"{PIN}","n":{PIN}}}'.encode())
    for _ in range(rng.choice([0, 0, 1, 3])):
        good[rng.randrange(len(good))] = rng.choice(b'"{}[]:,0e\\\xff\0')
    return bytes(good[: rng.choice([len(good), len(good), rng.randrange(len(good))])])


PAYLOADS: list[Callable[[random.Random], bytes]] = [random_bytes, broken_golden, broken_golden]


async def nothing_waits(service: Gateway) -> bool:
    return not service._aside.waiting and not service._tasks and not service._answers


async def test_ten_thousand_bad_messages_stop_nothing_and_leak_no_pin(
    shop: Shop, core: Core, on_broker: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside, "KEPT_OF_ONE", CASES)  # so that there is much to look at
    rng = random.Random(SEED)  # noqa: S311 - the same messages every time
    kept = 0
    device, spoken_for = await add_device(shop), await add_device(shop, await shop.add_box())
    async with gateway(core, on_broker) as service, box_at(on_broker, device) as box:
        await box.beat()
        with capture_logs() as lines:
            for number in range(CASES):
                service.take(topics(rng, spoken_for), rng.choice(PAYLOADS)(rng))
                if number % 500 == 0:
                    await box.beat()  # so that what was said so far is also written
                    kept += await take_kept(core, lines)
            await box.deliver([box.write(Happening.STARTED)])
            await until(lambda: nothing_waits(service), 5)
        kept += await take_kept(core, lines)
    assert kept > CASES / 8


async def take_kept(core: Core, lines: list[MutableMapping[str, Any]]) -> int:
    """How many were set aside since the last look; neither they nor the log may hold a PIN. Both are emptied."""
    kept = await ask(core, "DELETE FROM set_aside RETURNING topic, payload, reason")
    assert not [row for row in kept if PIN in str(row)]
    assert all(len(content) <= aside.EXCERPT_BYTES for _, content, _ in kept)
    assert not [line for line in lines if PIN in str(line)]
    assert [line for line in lines if line["log_level"] == "error"] == []
    lines.clear()
    return len(kept)
