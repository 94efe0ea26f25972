"""The service in memory: what each operation does, and refuses."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pickupbox_sdk.errors import (
    ApiError,
    BoxNotFound,
    CompartmentNotReleased,
    EventNotFound,
    ExternalOrderConflict,
    InvalidSandboxTransition,
    NoCompartmentAvailable,
    PinNotAvailable,
    ShipmentNotCancellable,
    ShipmentNotFaulted,
    ShipmentNotFound,
)
from pickupbox_sdk.models import Box
from pickupbox_sdk.testing.lifecycle import STEPS
from pickupbox_sdk.testing.parcels import Cabinet, Parcel, codes, event_body

TICK = timedelta(milliseconds=1)


def refusal(kind: type[ApiError], details: Any = None, retry_after: float | None = None) -> ApiError:
    """A refusal in the service's own words."""
    message = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
    return kind(kind.code, message, "", details, kind.status, retry_after)


class Service:
    """Boxes, shipments and events. Its clock moves when it is told to, and by a millisecond at each change."""

    def __init__(self) -> None:
        self.cabinets: dict[str, Cabinet] = {}
        self.parcels: dict[str, Parcel] = {}
        self.events: list[dict[str, Any]] = []
        self.now = datetime.now(UTC)
        self._made = 0

    def _new_id(self, prefix: str) -> str:
        self._made += 1
        return f"{prefix}_test_{self._made:032x}"

    def add_box(
        self,
        name: str,
        location_name: str | None,
        address: str | None,
        compartments: int,
        protection_seconds: float,
        reservation_ttl_minutes: int,
        pickup_ttl_minutes: int,
    ) -> Box:
        box = Box(self._new_id("box"), name, location_name, address)
        protection = timedelta(seconds=protection_seconds)
        self.cabinets[box.id] = Cabinet(
            box, codes(compartments), protection, reservation_ttl_minutes, pickup_ttl_minutes
        )
        return box

    def create(self, wish: Mapping[str, Any]) -> tuple[Parcel, bool]:
        """The order's first attempt, and whether it was there before."""
        first = next((p for p in self.find(wish["external_order_id"]) if p.attempt == 1), None)
        if first is None:
            return self._reserve(wish, 1, None), False
        if first.cabinet.box.id != wish["box_id"]:
            raise refusal(ExternalOrderConflict, {"existing_shipment_id": first.id})
        return first, True

    def retry(self, shipment_id: str) -> tuple[Parcel, bool]:
        original = self.read(shipment_id)
        if original.status != "fault":
            raise refusal(ShipmentNotFaulted)
        if not original.released:
            raise refusal(CompartmentNotReleased)
        known = next((p for p in self.parcels.values() if p.retry_of == original.id), None)
        if known is not None:
            return known, True
        wish = {
            "box_id": original.cabinet.box.id,
            "external_order_id": original.order,
            "customer_name": original.customer_name,
            "reservation_ttl_minutes": original.reservation_ttl_minutes,
            "pickup_ttl_minutes": original.pickup_ttl_minutes,
        }
        return self._reserve(wish, original.attempt + 1, original.id), False

    def _reserve(self, wish: Mapping[str, Any], attempt: int, retry_of: str | None) -> Parcel:
        cabinet = self.cabinets.get(wish["box_id"])
        if cabinet is None:
            raise refusal(BoxNotFound)
        taken = {p.compartment_code for p in self.parcels.values() if p.cabinet is cabinet and not p.released}
        code = next((code for code in cabinet.codes if code not in taken), None)
        if code is None:
            raise refusal(NoCompartmentAvailable)
        parcel = Parcel(
            self._new_id("shp"),
            wish["external_order_id"],
            attempt,
            retry_of,
            cabinet,
            code,
            wish.get("customer_name"),
            int(wish.get("reservation_ttl_minutes") or cabinet.reservation_ttl_minutes),
            int(wish.get("pickup_ttl_minutes") or cabinet.pickup_ttl_minutes),
            f"{self._made * 618_033 % 1_000_000:06d}",
            self.now + TICK,
        )
        self._take(parcel, "reserve")
        self.parcels[parcel.id] = parcel
        return parcel

    def read(self, shipment_id: str) -> Parcel:
        if shipment_id not in self.parcels:
            raise refusal(ShipmentNotFound)
        return self.parcels[shipment_id]

    def find(self, order: str) -> list[Parcel]:
        return [parcel for parcel in self.parcels.values() if parcel.order == order]

    def reveal_pin(self, shipment_id: str) -> str:
        parcel = self.read(shipment_id)
        if parcel.status not in ("reserved", "loaded"):
            raise refusal(PinNotAvailable)
        return parcel.pin

    def cancel(self, shipment_id: str) -> Parcel:
        parcel = self.read(shipment_id)
        if parcel.status != "cancelled" and not self._take(parcel, "cancel"):
            raise refusal(ShipmentNotCancellable)
        return parcel

    def simulate(self, shipment_id: str, event: str) -> Parcel:
        parcel = self.read(shipment_id)
        if not self._take(parcel, event):
            raise refusal(InvalidSandboxTransition)
        return parcel

    def feed(self, after: str | None, limit: int) -> tuple[list[dict[str, Any]], bool]:
        """At most `limit` events after that one, and whether there are more."""
        place = 0
        if after is not None:
            places = [number for number, event in enumerate(self.events, 1) if event["id"] == after]
            if not places:
                raise refusal(EventNotFound)
            place = places[0]
        return self.events[place : place + limit], len(self.events) > place + limit

    def let_time_pass(self, seconds: float) -> None:
        """Move the clock, and act on every deadline in its turn."""
        until = self.now + timedelta(seconds=seconds)
        while True:
            due = [(*deadline, parcel.id) for parcel in self.parcels.values() if (deadline := parcel.due())]
            if not due or min(due)[0] > until:
                break
            moment, act, shipment_id = min(due)
            self.now = max(self.now, moment)
            self._take(self.parcels[shipment_id], act)
        self.now = max(self.now, until)

    def _take(self, parcel: Parcel, act: str) -> bool:
        """Take the step of the table, and tell its events; whether there is one."""
        step = STEPS.get((parcel.stage, act))
        if step is None:
            return False
        self.now += TICK
        parcel.stage, parcel.updated_at = step.stage, self.now
        if parcel.status == "loaded" and parcel.loaded_at is None:
            parcel.loaded_at = self.now
        if parcel.status == "picked_up" and parcel.picked_up_at is None:
            parcel.picked_up_at = self.now
        self.events += [event_body(self._new_id("evt"), told, parcel) for told in step.tells]
        return True
