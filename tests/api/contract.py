"""The contract as data, written down from interface.md and from nothing in the code."""

import re
from dataclasses import dataclass
from typing import Any

from jsonschema import Draft202012Validator

type Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
DATE_TIME: Schema = {"type": "string", "format": "date-time"}
PIN: Schema = {"type": "string", "pattern": "^[0-9]{6}$"}
_REF = "#/components/schemas/"


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def ref(name: str) -> Schema:
    return {"$ref": f"{_REF}{name}"}


def record(fields: dict[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    """An object; every field is required unless it is said to be optional."""
    schema: Schema = {"type": "object", "properties": fields}
    required = [name for name in fields if name not in optional]
    return schema | {"required": required} if required else schema


def enumeration(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


SHIPMENT_STATUSES = ("reserved", "loaded", "picked_up", "cancelled", "expired", "fault")
COMPARTMENT_STATES = ("reserved", "occupied", "awaiting_removal", "cooldown", "available")
SANDBOX_EVENTS = ("loaded", "picked_up", "door_available", "expired", "fault", "removed")
WEBHOOK_EVENTS = ("reserved", "loaded", "picked_up", "expired", "cancelled", "fault", "removed", "door_available")
WEBHOOK_HEADERS = ("Service-Event-Id", "Service-Timestamp", "Service-Signature")

SHIPMENT_FIELDS: dict[str, Schema] = {
    "id": STRING,
    "external_order_id": STRING,
    "attempt_number": INTEGER,
    "retry_of_shipment_id": or_null(STRING),
    "box_id": STRING,
    "compartment_code": or_null(STRING),
    "customer_name": or_null(STRING),
    "status": ref("PublicShipmentStatus"),
    "compartment_state": ref("PublicCompartmentState"),
    "pickup_enabled": BOOLEAN,
    "reservation_expires_at": or_null(DATE_TIME),
    "loaded_at": or_null(DATE_TIME),
    "pickup_available_at": or_null(DATE_TIME),
    "pickup_expires_at": or_null(DATE_TIME),
    "picked_up_at": or_null(DATE_TIME),
    "updated_at": DATE_TIME,
}

COMPONENTS: dict[str, Schema] = {
    "PublicBoxRead": record(
        {"id": STRING, "name": STRING, "location_name": or_null(STRING), "address": or_null(STRING)}
    ),
    "PublicBoxListResponse": record({"items": {"type": "array", "items": ref("PublicBoxRead")}}),
    "PublicShipmentRead": record(SHIPMENT_FIELDS),
    "PublicShipmentCreateResponse": record(SHIPMENT_FIELDS | {"pickup_pin": PIN}),
    "PublicPickupPinRead": record({"shipment_id": STRING, "pickup_pin": PIN}),
    "PublicShipmentStatus": enumeration(*SHIPMENT_STATUSES),
    "PublicCompartmentState": enumeration(*COMPARTMENT_STATES),
    "PublicShipmentCreate": record(
        {
            "box_id": STRING | {"minLength": 1, "maxLength": 64},
            "external_order_id": STRING | {"minLength": 1, "maxLength": 160},
            "customer_name": or_null(STRING | {"maxLength": 160}),
            "reservation_ttl_minutes": or_null(INTEGER | {"minimum": 15, "maximum": 10080}),
            "pickup_ttl_minutes": or_null(INTEGER | {"minimum": 60, "maximum": 43200}),
        },
        optional=("customer_name", "reservation_ttl_minutes", "pickup_ttl_minutes"),
    )
    | {"additionalProperties": False},
    "SandboxTransitionRequest": record({"event": enumeration(*SANDBOX_EVENTS)}),
    "PublicWebhookEvent": record(
        {
            "api_version": STRING | {"const": "1", "default": "1"},
            "id": STRING,
            "type": enumeration(*WEBHOOK_EVENTS),
            "occurred_at": DATE_TIME,
            "data": ref("PublicWebhookData"),
        },
        optional=("api_version",),
    ),
    "PublicWebhookData": record(
        {
            "shipment_id": STRING,
            "external_order_id": STRING,
            "attempt_number": INTEGER,
            "retry_of_shipment_id": or_null(STRING),
            "box_id": STRING,
            "box_name": STRING,
            "compartment_code": or_null(STRING),
            "status": ref("PublicShipmentStatus"),
            "compartment_state": ref("PublicCompartmentState"),
            "pickup_available_at": or_null(DATE_TIME),
            "pickup_expires_at": or_null(DATE_TIME),
        }
    ),
    "PublicErrorResponse": record({"error": ref("PublicErrorDetail")}),
    "PublicErrorDetail": record(
        {"code": STRING, "message": STRING, "request_id": STRING, "details": or_null({})}, optional=("details",)
    ),
    "HTTPValidationError": record({"detail": {"type": "array", "items": ref("ValidationError")}}, optional=("detail",)),
    # The contract gives these items no name; this is the one that the framework gives them.
    "ValidationError": record(
        {
            "loc": {"type": "array", "items": {"anyOf": [STRING, INTEGER]}},
            "msg": STRING,
            "type": STRING,
            "input": {},
            "ctx": {"type": "object", "additionalProperties": True},
        },
        optional=("input", "ctx"),
    ),
}


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    success: int
    answer: str
    errors: tuple[int, ...]
    body: str | None = None

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


OPERATIONS = (
    Operation("GET", "/boxes", 200, "PublicBoxListResponse", (401, 429)),
    Operation(
        "POST",
        "/shipments",
        201,
        "PublicShipmentCreateResponse",
        (400, 401, 404, 409, 422, 429),
        body="PublicShipmentCreate",
    ),
    Operation("GET", "/shipments/{shipment_id}", 200, "PublicShipmentRead", (401, 404, 422, 429)),
    Operation("GET", "/shipments/{shipment_id}/pickup-pin", 200, "PublicPickupPinRead", (401, 404, 409, 422, 429)),
    Operation("POST", "/shipments/{shipment_id}/cancel", 200, "PublicShipmentRead", (401, 404, 409, 422, 429)),
    Operation("POST", "/shipments/{shipment_id}/retry", 201, "PublicShipmentCreateResponse", (401, 404, 409, 422, 429)),
    Operation(
        "POST",
        "/sandbox/shipments/{shipment_id}/events",
        200,
        "PublicShipmentRead",
        (401, 404, 409, 422, 429),
        body="SandboxTransitionRequest",
    ),
)
BY_SHIPMENT = tuple(operation for operation in OPERATIONS if "{shipment_id}" in operation.path)
SANDBOX_PATH = "/sandbox/shipments/{shipment_id}/events"

_rfc3339_in_utc = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").fullmatch


def breaches(body: object, name: str, added: dict[str, Schema] | None = None) -> list[str]:
    """Where a body differs from its component: a missing, unknown or mistyped field, a time that is not UTC."""
    components = {known: _closed(schema) for known, schema in (COMPONENTS | (added or {})).items()}
    validator = Draft202012Validator({"components": {"schemas": components}, **ref(name)})
    found = [error.message for error in validator.iter_errors(body)]
    return found + [text for text in _times(body) if not _rfc3339_in_utc(text)]


def _closed(schema: Schema) -> Schema:
    return {"additionalProperties": False} | schema if "properties" in schema else schema


def _times(body: object) -> list[str]:
    if isinstance(body, list):
        return [time for item in body for time in _times(item)]
    if not isinstance(body, dict):
        return []
    here = [str(value) for name, value in body.items() if name.endswith("_at") and value is not None]
    return here + [time for value in body.values() for time in _times(value)]
