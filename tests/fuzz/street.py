"""What the fuzzed API serves: a shop with boxes and shipments in every stage, and a stranger beside it."""

from collections.abc import Sequence
from dataclasses import dataclass

from pickupbox.database import tenants
from pickupbox.settings import Settings
from pickupbox.usecases.boxes import add_box, default_setup
from pickupbox.usecases.cancel import cancel
from pickupbox.usecases.core import Caller, Core, open_core
from pickupbox.usecases.reserve import Wish, reserve
from pickupbox.usecases.simulate import SandboxEvent, simulate
from pickupbox.usecases.tenants import add_tenant, issue_key
from tests.support.shop import FAST

COMPARTMENTS_PER_BOX = 1500
FOREIGN_ORDER = "order-of-the-stranger"
CASES_PER_KEY = 400  # a key may reveal 60 PINs an hour

LIVES: tuple[tuple[SandboxEvent, ...], ...] = (
    (),
    (SandboxEvent.LOADED,),
    (SandboxEvent.LOADED, SandboxEvent.PICKED_UP),
    (SandboxEvent.LOADED, SandboxEvent.PICKED_UP, SandboxEvent.DOOR_AVAILABLE),
    (SandboxEvent.EXPIRED,),
    (SandboxEvent.LOADED, SandboxEvent.EXPIRED),
    (SandboxEvent.FAULT,),
    (RELEASED_FAULT := (SandboxEvent.FAULT, SandboxEvent.REMOVED)),
)


@dataclass(frozen=True, slots=True)
class Street:
    api_keys: Sequence[str]
    boxes: Sequence[str]
    shipments: Sequence[str]
    released_faults: Sequence[str]  # those of them that can be retried, again and again
    orders: Sequence[str]
    events: Sequence[str]
    foreign_box: str
    foreign_shipment: str
    foreign_event: str
    secrets: Sequence[str]  # the stranger's, which no answer may contain


async def lay_out(settings: Settings, cases: int) -> Street:
    """Make the street in an empty database, large enough for that many cases."""
    core = open_core(settings)
    try:
        return await _lay_out(core, cases)
    finally:
        await core.db.close()


async def _lay_out(core: Core, cases: int) -> Street:
    tenant, keys = await _tenant(core, "Fuzzed shop", 2 + cases // CASES_PER_KEY)
    boxes = [await _box(core, tenant, COMPARTMENTS_PER_BOX) for _ in range(2 + cases // COMPARTMENTS_PER_BOX)]
    boxes.append(await _box(core, tenant, 1))  # soon full
    shipments = [
        await _shipment(core, tenant, Wish(boxes[0], f"laid-out-{number}"), events)
        for number, events in enumerate(LIVES * 3)
    ]
    for events in LIVES[:2]:
        shipments.append(await _shipment(core, tenant, Wish(boxes[0], f"cancelled-{len(events)}"), events))
        await cancel(core, tenant, shipments[-1])
    stranger, (foreign_key,) = await _tenant(core, "Stranger", 1)
    foreign_box = await _box(core, stranger, 3)
    wish = Wish(foreign_box, FOREIGN_ORDER, "Mrs. Stranger")
    foreign_shipment = await _shipment(core, stranger, wish, ())
    return Street(
        api_keys=keys,
        boxes=boxes,
        shipments=shipments,
        released_faults=shipments[LIVES.index(RELEASED_FAULT) : len(LIVES) * 3 : len(LIVES)],
        foreign_box=foreign_box,
        orders=[f"laid-out-{number}" for number in range(5)],
        events=[_first_event(shipment_id) for shipment_id in shipments],
        foreign_shipment=foreign_shipment,
        foreign_event=_first_event(foreign_shipment),
        secrets=[stranger, foreign_key, FOREIGN_ORDER, "Mrs. Stranger"],
    )


def _first_event(shipment_id: str) -> str:
    """A reservation's event has the shipment's own time and chance in its id."""
    return shipment_id.replace("shp_", "evt_", 1)


async def _tenant(core: Core, name: str, key_count: int) -> tuple[str, list[str]]:
    """A tenant whose rate nobody meets, with its keys."""
    tenant = await add_tenant(core, name)
    async with core.db.connection() as connection:
        await tenants.set_rate(connection, tenant, FAST, FAST)
    issued = [await issue_key(core, Caller(tenant, "test"), f"fuzz-{number}") for number in range(key_count)]
    return tenant, [key.api_key for key in issued if key is not None]


async def _box(core: Core, tenant: str, compartments: int) -> str:
    box_id = await add_box(core, tenant, default_setup(core, "Fuzzed box", "Here", "Test street 1"), compartments)
    assert box_id is not None
    return box_id


async def _shipment(core: Core, tenant: str, wish: Wish, events: Sequence[SandboxEvent]) -> str:
    reserved = await reserve(core, Caller(tenant, "test"), wish)
    for event in events:
        await simulate(core, tenant, reserved.shipment.id, event)
    return reserved.shipment.id
