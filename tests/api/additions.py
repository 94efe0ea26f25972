"""What is served beyond the contract, listed apart from it and as strictly."""

from tests.api.contract import BOOLEAN, INTEGER, OPERATIONS, STRING, Operation, Schema, record, ref

ADDED_COMPONENTS: dict[str, Schema] = {
    "PublicEventListResponse": record(
        {"items": {"type": "array", "items": ref("PublicWebhookEvent")}, "has_more": BOOLEAN}
    ),
    "PublicShipmentListResponse": record({"items": {"type": "array", "items": ref("PublicShipmentRead")}}),
}

FEED = Operation("GET", "/events", 200, "PublicEventListResponse", (401, 404, 422, 429))
BY_ORDER = Operation("GET", "/shipments", 200, "PublicShipmentListResponse", (401, 422, 429))
ADDITIONS = (FEED, BY_ORDER)
SERVED = OPERATIONS + ADDITIONS

# By operation and parameter: whether it is required, and its schema.
PARAMETERS: dict[str, dict[str, tuple[bool, Schema]]] = {
    FEED.name: {
        "after": (False, STRING | {"minLength": 1, "maxLength": 64, "pattern": r"^[^\x00-\x1f\x7f]+$"}),
        "limit": (False, INTEGER | {"minimum": 1, "maximum": 1000, "default": 100}),
    },
    BY_ORDER.name: {
        "external_order_id": (True, STRING | {"minLength": 1, "maxLength": 160, "pattern": r"^[^\x00]+$"}),
    },
}
QUERIES: dict[str, dict[str, str]] = {BY_ORDER.name: {"external_order_id": "order-1"}}
