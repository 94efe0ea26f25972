"""What the service answers and tells, as values. Fields that this version does not know are left out."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self, TypeVar, dataclass_transform

from pickupbox_sdk.states import CompartmentState, EventType, Status

Json = Mapping[str, Any]
T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def _value(cls: type[T]) -> type[T]:
    """Frozen to type checkers alone: frozen to Python too, making one would cost three times as much."""
    return dataclass(slots=True, unsafe_hash=True)(cls)


# An enumeration's own look-up takes several times as long.
_STATUS = {word.value: word for word in Status}
_STATE = {word.value: word for word in CompartmentState}
_TYPE = {word.value: word for word in EventType}
_DECODER = json.JSONDecoder()


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


@_value
class Box:
    """A box in which compartments can be reserved."""

    id: str
    name: str
    location_name: str | None
    address: str | None

    @classmethod
    def from_json(cls, body: Json) -> Self:
        return cls(body["id"], body["name"], body["location_name"], body["address"])


@_value
class Shipment:
    """One attempt to deliver an order by a box, as it stood when the service answered."""

    id: str
    external_order_id: str
    attempt_number: int
    retry_of_shipment_id: str | None
    box_id: str
    compartment_code: str | None
    customer_name: str | None
    status: Status
    compartment_state: CompartmentState
    pickup_enabled: bool
    reservation_expires_at: datetime | None
    loaded_at: datetime | None
    pickup_available_at: datetime | None
    pickup_expires_at: datetime | None
    picked_up_at: datetime | None
    updated_at: datetime

    @classmethod
    def from_json(cls, body: Json) -> Self:
        return cls(*_shipment_values(body))


def _shipment_values(body: Json) -> tuple[Any, ...]:
    return (
        body["id"],
        body["external_order_id"],
        body["attempt_number"],
        body["retry_of_shipment_id"],
        body["box_id"],
        body["compartment_code"],
        body["customer_name"],
        _STATUS.get(body["status"]) or Status(body["status"]),
        _STATE.get(body["compartment_state"]) or CompartmentState(body["compartment_state"]),
        body["pickup_enabled"],
        _moment(body["reservation_expires_at"]),
        _moment(body["loaded_at"]),
        _moment(body["pickup_available_at"]),
        _moment(body["pickup_expires_at"]),
        _moment(body["picked_up_at"]),
        datetime.fromisoformat(body["updated_at"]),
    )


@_value
class CreatedShipment(Shipment):
    """A shipment with its PIN, which its repr does not show."""

    pickup_pin: str = field(repr=False)
    replayed: bool = False
    """Whether the service had made it before: for an earlier call, or for an attempt whose answer was lost."""

    @classmethod
    def from_json(cls, body: Json, *, replayed: bool = False) -> Self:
        return cls(*(*_shipment_values(body), body["pickup_pin"], replayed))


@_value
class PickupPin:
    """The PIN of a shipment, which its repr does not show."""

    shipment_id: str
    pickup_pin: str = field(repr=False)

    @classmethod
    def from_json(cls, body: Json) -> Self:
        return cls(body["shipment_id"], body["pickup_pin"])


@_value
class EventData:
    """The shipment as it stood at the event; by now it may be further."""

    shipment_id: str
    external_order_id: str
    attempt_number: int
    retry_of_shipment_id: str | None
    box_id: str
    box_name: str
    compartment_code: str | None
    status: Status
    compartment_state: CompartmentState
    pickup_available_at: datetime | None
    pickup_expires_at: datetime | None

    @classmethod
    def from_json(cls, body: Json) -> Self:
        # A page has a hundred of them: without a call for each moment it is read in two thirds of the time.
        available_at, expires_at = body["pickup_available_at"], body["pickup_expires_at"]
        return cls(
            body["shipment_id"],
            body["external_order_id"],
            body["attempt_number"],
            body["retry_of_shipment_id"],
            body["box_id"],
            body["box_name"],
            body["compartment_code"],
            _STATUS.get(body["status"]) or Status(body["status"]),
            _STATE.get(body["compartment_state"]) or CompartmentState(body["compartment_state"]),
            None if available_at is None else datetime.fromisoformat(available_at),
            None if expires_at is None else datetime.fromisoformat(expires_at),
        )


@_value
class Event:
    """Something happened to a shipment. The same event may come twice: know it by its `id`."""

    id: str
    type: EventType
    occurred_at: datetime
    data: EventData
    api_version: str = "1"

    @classmethod
    def from_json(cls, body: Json) -> Self:
        return cls(
            body["id"],
            _TYPE.get(body["type"]) or EventType(body["type"]),
            datetime.fromisoformat(body["occurred_at"]),
            EventData.from_json(body["data"]),
            body.get("api_version", "1"),
        )


@_value
class EventPage:
    """Some events in order, and whether more can be read already."""

    items: list[Event]
    has_more: bool
    answered: bytes = field(default=b"", repr=False, compare=False)
    """The answer as it came."""

    @classmethod
    def from_json(cls, body: Json, answered: bytes = b"") -> Self:
        return cls([Event.from_json(item) for item in body["items"]], body["has_more"], answered)

    def bodies(self) -> list[bytes]:
        """Of each event the bytes of its webhook, as the answer holds them."""
        text = self.answered.decode()
        at = text.index("[", text.index('"items"'))
        bodies = []
        for _ in self.items:
            start = text.index("{", at)
            _, at = _DECODER.raw_decode(text, start)
            bodies.append(text[start:at].encode())
        return bodies
