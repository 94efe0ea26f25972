"""Ways to bring a shipment into every state that the API can show."""

from typing import Any

from tests.api.stored import wait
from tests.support.shop import Shop

type Face = tuple[str, str, bool]

# Beyond the protection of a sandbox box (5 s), well before any expiry.
PROTECTION_PASSES = "protection passes"
CANCEL = "cancel"

# Name of the state: the way there, and then status, compartment state and pickup_enabled.
STATES: dict[str, tuple[tuple[str, ...], Face]] = {
    "reserved": ((), ("reserved", "reserved", False)),
    "protected": (("loaded",), ("loaded", "occupied", False)),
    "ready": (("loaded", PROTECTION_PASSES), ("loaded", "occupied", True)),
    "picked_up": (("loaded", "picked_up"), ("picked_up", "cooldown", False)),
    "collected": (("loaded", "picked_up", "door_available"), ("picked_up", "available", False)),
    "cancelled empty": ((CANCEL,), ("cancelled", "available", False)),
    "cancelled loaded": (("loaded", CANCEL), ("cancelled", "awaiting_removal", False)),
    "cancelled removed": (("loaded", CANCEL, "removed"), ("cancelled", "available", False)),
    "expired empty": (("expired",), ("expired", "available", False)),
    "expired loaded": (("loaded", "expired"), ("expired", "awaiting_removal", False)),
    "expired removed": (("loaded", "expired", "removed"), ("expired", "available", False)),
    "fault reserved": (("fault",), ("fault", "awaiting_removal", False)),
    "fault loaded": (("loaded", "fault"), ("fault", "awaiting_removal", False)),
    "fault removed": (("fault", "removed"), ("fault", "available", False)),
}


def face(shipment: dict[str, Any]) -> Face:
    return shipment["status"], shipment["compartment_state"], shipment["pickup_enabled"]


async def shipment_in(shop: Shop, state: str, order: str = "order-1") -> str:
    """The id of a new shipment in that state, as the API itself shows it."""
    way, expected = STATES[state]
    shipment_id = await shop.reserved(order)
    for step in way:
        await _take(shop, shipment_id, step)
    assert face((await shop.read(shipment_id)).json()) == expected
    return shipment_id


async def _take(shop: Shop, shipment_id: str, step: str) -> None:
    if step == PROTECTION_PASSES:
        await wait(shop.core, shipment_id, 6)
        return
    answer = await (shop.cancel(shipment_id) if step == CANCEL else shop.simulate(shipment_id, step))
    assert answer.status_code == 200, answer.text
