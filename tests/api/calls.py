"""Any of the operations as one call, for tests that go through all of them."""

from typing import Any

import httpx

from tests.api.additions import QUERIES
from tests.api.contract import Operation
from tests.support.shop import Shop

UNKNOWN_SHIPMENT = "shp_c1_00000000000000000000000000"


async def call(
    shop: Shop, operation: Operation, shipment_id: str = UNKNOWN_SHIPMENT, http: httpx.AsyncClient | None = None
) -> httpx.Response:
    """A request that is good in itself, sent as the shop, or by another client if one is given."""
    bodies: dict[str | None, Any] = {
        None: None,
        "PublicShipmentCreate": {"box_id": shop.box_id, "external_order_id": "order-1"},
        "SandboxTransitionRequest": {"event": "loaded"},
    }
    path = operation.path.replace("{shipment_id}", shipment_id)
    return await (http or shop.http).request(
        operation.method, path, params=QUERIES.get(operation.name), json=bodies[operation.body]
    )
