"""The bodies of the contract, under the contract's names; and what the additions ask and answer."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticKnownError

from pickupbox.domain.lifecycle import CompartmentState, Event, Status
from pickupbox.domain.pins import PIN_PATTERN
from pickupbox.usecases.simulate import SandboxEvent


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, json_schema_serialization_defaults_required=False)


Pin = Annotated[str, Field(pattern=PIN_PATTERN)]


class PublicBoxRead(_Read):
    id: Annotated[str, Field(description="Stable box identifier, used as box_id when creating a shipment")]
    name: Annotated[str, Field(description="Customer-facing box name")]
    location_name: Annotated[str | None, Field(description="Short location label")]
    address: Annotated[str | None, Field(description="Postal or human-readable address")]


class PublicBoxListResponse(_Read):
    items: list[PublicBoxRead]


class PublicShipmentRead(_Read):
    id: Annotated[str, Field(description="Shipment identifier")]
    external_order_id: Annotated[str, Field(description="Order identifier supplied by the shop")]
    attempt_number: Annotated[int, Field(description="One-based delivery attempt number for the external order")]
    retry_of_shipment_id: Annotated[str | None, Field(description="Previous faulted shipment replaced by this attempt")]
    box_id: Annotated[str, Field(description="Assigned box identifier")]
    compartment_code: Annotated[str | None, Field(description="Human-readable compartment code")]
    customer_name: Annotated[str | None, Field(description="Customer name supplied on creation")]
    status: Status
    compartment_state: CompartmentState
    pickup_enabled: Annotated[
        bool, Field(description="True only when the protection period has ended and customer pickup may start")
    ]
    reservation_expires_at: Annotated[datetime | None, Field(description="Reservation expiry, UTC")]
    loaded_at: Annotated[datetime | None, Field(description="First confirmed loading time, UTC")]
    pickup_available_at: Annotated[datetime | None, Field(description="Earliest customer pickup time, UTC")]
    pickup_expires_at: Annotated[datetime | None, Field(description="Customer pickup expiry, UTC")]
    picked_up_at: Annotated[datetime | None, Field(description="Confirmed pickup time, UTC")]
    updated_at: Annotated[datetime, Field(description="Last shipment change, UTC")]


class PublicShipmentCreateResponse(PublicShipmentRead):
    pickup_pin: Annotated[Pin, Field(description="PIN used for loading and customer pickup")]


class PublicPickupPinRead(_Read):
    shipment_id: str
    pickup_pin: Pin


def _storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not contain the character U+0000")
    return text


Text = AfterValidator(_storable)


def _whole(value: Any) -> Any:
    # JSON has one kind of number: to its schema 60.0 is an integer like 60.
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = BeforeValidator(_whole)


class PublicShipmentCreate(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    box_id: Annotated[str, Field(min_length=1, max_length=64, description="An id returned by GET /boxes"), Text]
    external_order_id: Annotated[
        str,
        Field(min_length=1, max_length=160, description="Unique within the tenant; also the idempotency key"),
        Text,
    ]
    customer_name: Annotated[
        Annotated[str, Field(max_length=160), Text] | None, Field(description="Shown to tenant operators")
    ] = None
    reservation_ttl_minutes: Annotated[
        Annotated[int, Field(ge=15, le=10080), Whole] | None, Field(description="The box's setting if omitted")
    ] = None
    pickup_ttl_minutes: Annotated[
        Annotated[int, Field(ge=60, le=43200), Whole] | None,
        Field(description="Counted from loading; the box's setting if omitted"),
    ] = None


class SandboxTransitionRequest(BaseModel):
    # JSON has no enumerations: a strict model would refuse the string.
    model_config = ConfigDict(frozen=True)

    event: Annotated[SandboxEvent, WithJsonSchema({"type": "string", "enum": [*SandboxEvent]})]


class PublicWebhookData(_Read):
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


class PublicWebhookEvent(_Read):
    api_version: Literal["1"] = "1"
    id: str
    type: Annotated[Event, WithJsonSchema({"type": "string", "enum": [*Event]})]
    occurred_at: datetime
    data: PublicWebhookData


class PublicEventListResponse(_Read):
    items: list[PublicWebhookEvent]
    has_more: Annotated[bool, Field(description="Whether more events can be read already")]


class PublicShipmentListResponse(_Read):
    items: list[PublicShipmentRead]


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _digits(text: str) -> str:
    # Pydantic would also take " 7", "+7", "7.0" and "1_000".
    if not (text.isascii() and text.isdigit()):
        raise PydanticKnownError("int_parsing")
    return text


class EventsQuery(_Query):
    after: Annotated[
        str | None,
        Field(min_length=1, max_length=64, pattern=r"^[^\x00-\x1f\x7f]+$"),
        Field(description="The id of the last event that was handled; the oldest that is kept comes first if omitted"),
    ] = None
    limit: Annotated[int, Field(ge=1, le=1000, description="At most so many events"), BeforeValidator(_digits)] = 100


class OrderQuery(_Query):
    external_order_id: Annotated[
        str,
        Field(min_length=1, max_length=160, pattern=r"^[^\x00]+$", description="The order, as it was reserved with"),
    ]


class PublicErrorDetail(_Read):
    code: str
    message: str
    request_id: str
    details: Any | None = None


class PublicErrorResponse(_Read):
    error: PublicErrorDetail


class ValidationError(_Read):
    loc: list[str | int]
    msg: str
    type: str
    input: Any = None
    ctx: dict[str, Any] = {}


class HTTPValidationError(_Read):
    detail: list[ValidationError] = []
