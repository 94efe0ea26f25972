"""Boxes and shipments as the test sandbox keeps them, and how they are written."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from pickupbox_sdk.models import Box
from pickupbox_sdk.testing.lifecycle import FACES, Told


@dataclass(frozen=True, slots=True)
class Cabinet:
    """A box with its compartments and its settings."""

    box: Box
    codes: tuple[str, ...]
    protection: timedelta
    reservation_ttl_minutes: int
    pickup_ttl_minutes: int


@dataclass(slots=True)
class Parcel:
    """A shipment."""

    id: str
    order: str
    attempt: int
    retry_of: str | None
    cabinet: Cabinet
    compartment_code: str
    customer_name: str | None
    reservation_ttl_minutes: int
    pickup_ttl_minutes: int
    pin: str
    updated_at: datetime
    stage: str | None = None
    loaded_at: datetime | None = None
    picked_up_at: datetime | None = None
    reservation_expires_at: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.reservation_expires_at = self.updated_at + timedelta(minutes=self.reservation_ttl_minutes)

    @property
    def pickup_available_at(self) -> datetime | None:
        return self.loaded_at and self.loaded_at + self.cabinet.protection

    @property
    def pickup_expires_at(self) -> datetime | None:
        return self.loaded_at and self.loaded_at + timedelta(minutes=self.pickup_ttl_minutes)

    @property
    def status(self) -> str:
        return FACES[self.stage or ""].status

    @property
    def released(self) -> bool:
        return FACES[self.stage or ""].compartment_state == "available"

    def due(self) -> tuple[datetime, str] | None:
        """When the clock acts on it, and how."""
        match self.stage, self.pickup_available_at, self.pickup_expires_at:
            case "reserved", _, _:
                return self.reservation_expires_at, "expired"
            case "protected", datetime() as ready, _:
                return ready, "protection_ended"
            case "ready", _, datetime() as ends:
                return ends, "expired"
        return None


def codes(count: int) -> tuple[str, ...]:
    """A1 … A6, B1 … as on a real box."""
    return tuple(f"{chr(65 + number // 6)}{number % 6 + 1}" for number in range(count))


def box_body(box: Box) -> dict[str, Any]:
    return {"id": box.id, "name": box.name, "location_name": box.location_name, "address": box.address}


def shipment_body(parcel: Parcel) -> dict[str, Any]:
    face = FACES[parcel.stage or ""]
    return {
        "id": parcel.id,
        "external_order_id": parcel.order,
        "attempt_number": parcel.attempt,
        "retry_of_shipment_id": parcel.retry_of,
        "box_id": parcel.cabinet.box.id,
        "compartment_code": parcel.compartment_code,
        "customer_name": parcel.customer_name,
        "status": face.status,
        "compartment_state": face.compartment_state,
        "pickup_enabled": face.pickup_enabled,
        "reservation_expires_at": text_of(parcel.reservation_expires_at),
        "loaded_at": text_of(parcel.loaded_at),
        "pickup_available_at": text_of(parcel.pickup_available_at),
        "pickup_expires_at": text_of(parcel.pickup_expires_at),
        "picked_up_at": text_of(parcel.picked_up_at),
        "updated_at": text_of(parcel.updated_at),
    }


def event_body(event_id: str, told: Told, parcel: Parcel) -> dict[str, Any]:
    face = FACES[told.stage]
    return {
        "api_version": "1",
        "id": event_id,
        "type": told.event,
        "occurred_at": text_of(parcel.updated_at),
        "data": {
            "shipment_id": parcel.id,
            "external_order_id": parcel.order,
            "attempt_number": parcel.attempt,
            "retry_of_shipment_id": parcel.retry_of,
            "box_id": parcel.cabinet.box.id,
            "box_name": parcel.cabinet.box.name,
            "compartment_code": parcel.compartment_code,
            "status": face.status,
            "compartment_state": face.compartment_state,
            "pickup_available_at": text_of(parcel.pickup_available_at),
            "pickup_expires_at": text_of(parcel.pickup_expires_at),
        },
    }


def text_of(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
