"""The operations of the contract: each makes a request as a value, and says how its answer is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from pickupbox_sdk.answers import Answer
from pickupbox_sdk.models import Box, CreatedShipment, EventPage, PickupPin, Shipment

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request, and how its answer is read."""

    method: str
    path: str
    read: Callable[[Answer], T]
    params: Mapping[str, str | int] | None = None
    body: Mapping[str, Any] | None = None
    repeatable: bool = True  # whether doing it twice is doing it once


def list_boxes() -> Call[list[Box]]:
    return Call("GET", "/boxes", _boxes)


def create_shipment(
    box_id: str,
    external_order_id: str,
    customer_name: str | None = None,
    reservation_ttl_minutes: int | None = None,
    pickup_ttl_minutes: int | None = None,
) -> Call[CreatedShipment]:
    body: dict[str, Any] = {"box_id": box_id, "external_order_id": external_order_id}
    optional = {
        "customer_name": customer_name,
        "reservation_ttl_minutes": reservation_ttl_minutes,
        "pickup_ttl_minutes": pickup_ttl_minutes,
    }
    body.update((name, value) for name, value in optional.items() if value is not None)
    return Call("POST", "/shipments", _created, body=body)


def get_shipment(shipment_id: str) -> Call[Shipment]:
    return Call("GET", f"/shipments/{_segment(shipment_id)}", _shipment)


def find_shipments(external_order_id: str) -> Call[list[Shipment]]:
    return Call("GET", "/shipments", _shipments, params={"external_order_id": external_order_id})


def get_pickup_pin(shipment_id: str) -> Call[PickupPin]:
    return Call("GET", f"/shipments/{_segment(shipment_id)}/pickup-pin", _pin)


def cancel_shipment(shipment_id: str) -> Call[Shipment]:
    return Call("POST", f"/shipments/{_segment(shipment_id)}/cancel", _shipment)


def retry_shipment(shipment_id: str) -> Call[CreatedShipment]:
    return Call("POST", f"/shipments/{_segment(shipment_id)}/retry", _created)


def simulate_event(shipment_id: str, event: str) -> Call[Shipment]:
    path = f"/sandbox/shipments/{_segment(shipment_id)}/events"
    return Call("POST", path, _shipment, body={"event": event}, repeatable=False)


def list_events(after: str | None = None, limit: int = 100) -> Call[EventPage]:
    params: dict[str, str | int] = {"limit": limit} if after is None else {"after": after, "limit": limit}
    return Call("GET", "/events", _events, params=params)


def _segment(shipment_id: str) -> str:
    """An id as one part of a path. What would make another path of it never leaves."""
    if shipment_id in ("", ".", ".."):
        raise ValueError(f"not a shipment id: {shipment_id!r}")
    return quote(shipment_id, safe="")


def _boxes(answer: Answer) -> list[Box]:
    return [Box.from_json(item) for item in answer.json()["items"]]


def _shipment(answer: Answer) -> Shipment:
    return Shipment.from_json(answer.json())


def _shipments(answer: Answer) -> list[Shipment]:
    return [Shipment.from_json(item) for item in answer.json()["items"]]


def _created(answer: Answer) -> CreatedShipment:
    return CreatedShipment.from_json(answer.json(), replayed=answer.headers.get("idempotent-replayed") == "true")


def _pin(answer: Answer) -> PickupPin:
    return PickupPin.from_json(answer.json())


def _events(answer: Answer) -> EventPage:
    return EventPage.from_json(answer.json(), answer.body)
