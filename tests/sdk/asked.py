"""What a history asks for: calls of the SDK, and what the SDK would not send."""

import json
from dataclasses import dataclass
from random import Random
from typing import Any

import httpx2
from pickupbox_sdk import calls
from pickupbox_sdk.calls import Call

EVENTS = ("loaded", "picked_up", "door_available", "expired", "fault", "removed")
MINUTES = (60, 90, 60.0, 60.5, 14, 59, 15, 43201, 10081, "60", True, None, [])
TEXTS = ("", "x", "x" * 160, "x" * 161, "é📦", "a\x00b", None, 7, {})
IDS = ("x", "x" * 64, "x" * 65, "a\nb", "é", "a b", "%2F")
BODIES: tuple[bytes, ...] = (
    b"",
    b"{",
    b"[]",
    b"null",
    b'"x"',
    b'{"event": 1}',
    b'{"event": "LOADED"}',
    b"\xff",
    b'{"event": NaN}',
)
QUERIES = ("", "limit=0", "limit=1001", "limit=1", "limit=x", "limit=1&limit=2", "after=", "after=evt_x", "other=1")


@dataclass(frozen=True)
class Request:
    """A call of the SDK, or something that the SDK would not send."""

    method: str
    path: str
    content: bytes | None = None
    content_type: str = "application/json"
    key: str | None = None
    call: Call[Any] | None = None


def drawn(chance: Random, orders: int, shipments: int) -> Request:
    """One request. Boxes and shipments are named by their numbers: their ids differ."""
    known = chance.randrange(shipments) if shipments else None
    kinds = ("create", "create", *["event"] * 6, "cancel", *["by id"] * 5, "odd")
    match chance.choice(kinds if known is not None else ("create", "odd")):
        case "create":
            name = chance.choice([None, "Ada", "é"])
            ttls = [chance.choice([None, None, 60, 600]) for _ in range(2)]
            box = f"{{box-{chance.choice([1, 1, 2])}}}" if chance.random() < 0.95 else "box_unknown"
            return of_call(calls.create_shipment(box, f"order-{chance.randrange(orders)}", name, *ttls))
        case "event":
            return _on(calls.simulate_event("ID", chance.choice(EVENTS)), known)
        case "cancel":
            return _on(calls.cancel_shipment("ID"), known)
        case "by id":
            by_id = (calls.get_shipment, calls.get_pickup_pin, calls.retry_shipment, calls.retry_shipment)
            other = [
                calls.list_boxes(),
                calls.find_shipments(f"order-{chance.randrange(orders)}"),
                *[make("ID") for make in by_id],
            ]
            return _on(chance.choice(other), known)
    return _odd(chance)


def _on(call: Call[Any], known: int | None) -> Request:
    return of_call(call, f"{{shipment-{known}}}")


def of_call(call: Call[Any], shipment: str = "") -> Request:
    path = call.path.replace("/ID", f"/{shipment}")
    if call.params:
        path += "?" + str(httpx2.QueryParams(dict(call.params)))
    content = None if call.body is None else json.dumps(call.body, ensure_ascii=False).encode()
    return Request(call.method, path, content, call=call)


def _odd(chance: Random) -> Request:
    """What the SDK's types would not let through, or a shop's mistake."""
    paths = ["/boxes", "/shipments", "/shipments/x", "/shipments/x/cancel", "/events", "/nothing", "/", "/shipments/"]
    match chance.choice(("field", "field", "field", "body", "id", "method", "key", "query", "type")):
        case "field":
            body: dict[str, Any] = {"box_id": "{box-1}", "external_order_id": "order-0"}
            for _ in range(chance.randint(1, 3)):
                name = chance.choice(["box_id", "external_order_id", "customer_name", "another"])
                body[name] = chance.choice(TEXTS)
                minutes = chance.choice(["reservation_ttl_minutes", "pickup_ttl_minutes"])
                body[minutes] = chance.choice(MINUTES)
            if chance.random() < 0.2:
                del body[chance.choice(["box_id", "external_order_id"])]
            return Request("POST", "/shipments", json.dumps(body).encode())
        case "body":
            path = chance.choice(["/shipments", "/sandbox/shipments/x/events"])
            return Request("POST", path, chance.choice(BODIES))
        case "id":
            bad = chance.choice(IDS)
            call = chance.choice(
                [
                    calls.get_shipment(bad),
                    calls.get_pickup_pin(bad),
                    calls.cancel_shipment(bad),
                    calls.retry_shipment(bad),
                    calls.simulate_event(bad, "loaded"),
                ]
            )
            return of_call(call)
        case "method":
            return Request(chance.choice(["GET", "POST", "PUT", "DELETE"]), chance.choice(paths), b"{}")
        case "key":
            return Request("GET", chance.choice(paths), key=chance.choice(["", "Bearer x", "Basic x", "Bearer"]))
        case "query":
            return Request("GET", f"{chance.choice(['/events', '/shipments'])}?{chance.choice(QUERIES)}")
    fine = b'{"box_id": "x", "external_order_id": "y"}'
    return Request("POST", "/shipments", fine, chance.choice(["text/plain", "application/json; charset=utf-8"]))
