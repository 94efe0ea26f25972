"""How long a person waits at the keypad: from the PIN typed to the command to open the door, at the box.

PINs of reserved shipments are typed at many boxes, so many a second whatever the answers do. A PIN's time runs from
when it was to be typed, so that a load that is late hides nothing. The gateway is one process, as in production.
"""

import asyncio
import secrets
import statistics
import time
from datetime import UTC, datetime
from itertools import batched, cycle, islice

import orjson
import uvloop

from bench.boxes import LightBox, connect_boxes
from bench.street import clear_live
from bench.yard import GATEWAY, Yard, device_of, listening
from pickupbox.devices.messages import Open, PinEntered
from pickupbox.devices.wire import encode
from pickupbox.usecases.core import Caller, open_core
from pickupbox.usecases.reserve import Wish, reserve

EACH = 4  # shipments per box
RESERVING = 100
PATIENCE_SECONDS = 3


def pin_to_open_ms(yard: Yard, seconds: int, per_second: int) -> list[float]:
    """Milliseconds from each PIN to its command, the shortest first; all must be answered."""
    clear_live(yard.street)
    pins = asyncio.run(_reserve(yard))
    with listening(yard, *GATEWAY):
        return uvloop.run(_type(yard, pins, seconds, per_second))


def p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


async def _reserve(yard: Yard) -> list[tuple[str, str]]:
    """Device and PIN of new reservations: one of each box, then another of each."""
    core = open_core(yard.settings)
    caller = Caller(yard.street.tenant, "bench")
    wishes = [Wish(box, f"pin-{secrets.token_hex(8)}") for _ in range(EACH) for box in yard.street.boxes]
    made = []
    for some in batched(wishes, RESERVING):
        made += await asyncio.gather(*(reserve(core, caller, wish) for wish in some))
    await core.db.close()
    return [(device_of(reserved.shipment.box_id), reserved.pin) for reserved in made]


async def _type(yard: Yard, pins: list[tuple[str, str]], seconds: int, per_second: int) -> list[float]:
    boxes = {box.device: box for box in await connect_boxes(yard.port, yard.devices())}
    typed: dict[str, float] = {}
    waited: list[float] = []

    def hear(_: LightBox, kind: str, payload: bytes) -> None:
        if kind == Open.kind:
            waited.append((time.perf_counter() - typed.pop(orjson.loads(payload)["about"])) * 1000)

    for box in boxes.values():
        box.hear = hear
    began = time.perf_counter() + 1
    for number, (device, pin) in enumerate(islice(cycle(pins), seconds * per_second)):
        due = began + number / per_second
        if (early := due - time.perf_counter()) > 0:
            await asyncio.sleep(early)
        message = PinEntered(id=f"msg_{secrets.token_hex(13)}", at=datetime.now(UTC), pin=pin)
        typed[message.id] = due
        boxes[device].publish(PinEntered.kind, encode(message))
    await asyncio.sleep(PATIENCE_SECONDS)
    if typed:
        raise RuntimeError(f"{len(typed)} of {seconds * per_second} PINs opened nothing")
    for box in boxes.values():
        box.close()
    return sorted(waited)
