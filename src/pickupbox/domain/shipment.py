"""A shipment as it stands, and what its box decides about it."""

from dataclasses import dataclass
from datetime import datetime

from pickupbox.domain.lifecycle import FACES, CompartmentState, Stage, Status


@dataclass(frozen=True, slots=True)
class BoxSettings:
    """What a box decides about its shipments."""

    protection_seconds: int
    cooldown_seconds: int
    door_open_seconds: int


@dataclass(frozen=True, slots=True)
class Shipment:
    tenant_id: str
    id: str
    external_order_id: str
    attempt_number: int
    retry_of_shipment_id: str | None
    box_id: str
    compartment_code: str
    customer_name: str | None
    reservation_ttl_minutes: int
    pickup_ttl_minutes: int
    stage: Stage
    created_at: datetime
    updated_at: datetime
    reservation_expires_at: datetime
    loaded_at: datetime | None = None
    pickup_available_at: datetime | None = None
    pickup_expires_at: datetime | None = None
    picked_up_at: datetime | None = None
    released_at: datetime | None = None
    due_at: datetime | None = None

    @property
    def status(self) -> Status:
        return FACES[self.stage].status

    @property
    def compartment_state(self) -> CompartmentState:
        return FACES[self.stage].compartment_state

    @property
    def pickup_enabled(self) -> bool:
        return FACES[self.stage].pickup_enabled
