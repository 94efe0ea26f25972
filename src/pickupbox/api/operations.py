"""The operations as the document describes them, additions last: paths, bodies, statuses, how one leads to the next."""

from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from pickupbox.api import schemas


@dataclass(frozen=True, slots=True)
class Operation:
    id: str
    method: str
    path: str
    summary: str
    description: str
    success_text: str
    success_model: type[BaseModel]
    error_statuses: tuple[int, ...]
    success_status: int = 200
    body_model: type[BaseModel] | None = None
    query_model: type[BaseModel] | None = None
    sandbox_only: bool = False
    addition: bool = False  # not in the contract
    links: dict[str, dict[str, Any]] = field(default_factory=dict)


def _by_shipment_id(operation_id: str, expression: str = "$response.body#/id") -> dict[str, Any]:
    return {"operationId": operation_id, "parameters": {"shipment_id": expression}}


_FIND_ITS_ORDER = {
    "operationId": "findShipments",
    "parameters": {"external_order_id": "$response.body#/external_order_id"},
}
_LINKS_OF_A_SHIPMENT = {
    operation: _by_shipment_id(operation)
    for operation in ("getShipment", "getPickupPin", "cancelShipment", "retryShipment", "simulateEvent")
} | {"findShipments": _FIND_ITS_ORDER}

OPERATIONS = (
    Operation(
        id="listBoxes",
        method="GET",
        path="/boxes",
        summary="List boxes",
        description="Active boxes of the key's tenant.",
        success_text="The active boxes",
        success_model=schemas.PublicBoxListResponse,
        error_statuses=(401, 429),
        links={
            "createShipment": {
                "operationId": "createShipment",
                "requestBody": {"box_id": "$response.body#/items/0/id", "external_order_id": "linked-order"},
            }
        },
    ),
    Operation(
        id="createShipment",
        method="POST",
        path="/shipments",
        summary="Reserve a compartment",
        description=(
            "Atomically reserves a compartment and makes a six-digit PIN. Repeating the request with the same "
            "external_order_id and box returns the original shipment and its PIN, with Idempotent-Replayed: true."
        ),
        success_text="The shipment with its PIN",
        success_model=schemas.PublicShipmentCreateResponse,
        success_status=201,
        body_model=schemas.PublicShipmentCreate,
        error_statuses=(400, 401, 404, 409, 422, 429),
        links=_LINKS_OF_A_SHIPMENT,
    ),
    Operation(
        id="getShipment",
        method="GET",
        path="/shipments/{shipment_id}",
        summary="Read a shipment",
        description="Current public state and pickup timestamps. Never returns the PIN.",
        success_text="The shipment",
        success_model=schemas.PublicShipmentRead,
        error_statuses=(401, 404, 422, 429),
    ),
    Operation(
        id="getPickupPin",
        method="GET",
        path="/shipments/{shipment_id}/pickup-pin",
        summary="Reveal the PIN",
        description="The PIN of a reserved or loaded shipment. Every call is recorded in the audit trail.",
        success_text="The PIN",
        success_model=schemas.PublicPickupPinRead,
        error_statuses=(401, 404, 409, 422, 429),
    ),
    Operation(
        id="cancelShipment",
        method="POST",
        path="/shipments/{shipment_id}/cancel",
        summary="Cancel a shipment",
        description=(
            "A reserved or loaded shipment can be cancelled; repeating it changes nothing. An empty reservation is "
            "released at once, a loaded one awaits removal."
        ),
        success_text="The shipment",
        success_model=schemas.PublicShipmentRead,
        error_statuses=(401, 404, 409, 422, 429),
        links=_LINKS_OF_A_SHIPMENT,
    ),
    Operation(
        id="retryShipment",
        method="POST",
        path="/shipments/{shipment_id}/retry",
        summary="Retry a faulted shipment",
        description=(
            "Reserves a new attempt for a faulted shipment whose compartment is released. Repeating it returns the "
            "same new attempt and PIN. Store the id that it returns."
        ),
        success_text="The new attempt with its PIN",
        success_model=schemas.PublicShipmentCreateResponse,
        success_status=201,
        error_statuses=(401, 404, 409, 422, 429),
        links=_LINKS_OF_A_SHIPMENT,
    ),
    Operation(
        id="simulateEvent",
        method="POST",
        path="/sandbox/shipments/{shipment_id}/events",
        summary="Simulate an event (sandbox only)",
        description="Advances a virtual shipment deterministically. An event that does not fit changes nothing.",
        success_text="The shipment",
        success_model=schemas.PublicShipmentRead,
        body_model=schemas.SandboxTransitionRequest,
        error_statuses=(401, 404, 409, 422, 429),
        sandbox_only=True,
        links=_LINKS_OF_A_SHIPMENT,
    ),
    Operation(
        id="listEvents",
        method="GET",
        path="/events",
        summary="Read events",
        description=(
            "An addition to the interface. The tenant's events, each as its webhook tells it, in an order that holds "
            "per shipment and in which nothing ever appears before what was read. Read on with after set to the id "
            "of the last item. The id of a webhook can be used too: it leaves out what was told before it, even if "
            "that webhook has not arrived. An event may be readable some moments after its webhook."
        ),
        success_text="The events that follow, oldest first",
        success_model=schemas.PublicEventListResponse,
        query_model=schemas.EventsQuery,
        error_statuses=(401, 404, 422, 429),
        addition=True,
        links={
            "getShipment": _by_shipment_id("getShipment", "$response.body#/items/0/data/shipment_id"),
            "listEvents": {
                "operationId": "listEvents",
                "description": "What follows the first item; to page, take the id of the last one",
                "parameters": {"after": "$response.body#/items/0/id"},
            },
        },
    ),
    Operation(
        id="findShipments",
        method="GET",
        path="/shipments",
        summary="Find the shipments of an order",
        description=(
            "An addition to the interface. All attempts of an order by attempt_number, at most 1000; no items if the "
            "order is not known. Never returns a PIN."
        ),
        success_text="The attempts of the order",
        success_model=schemas.PublicShipmentListResponse,
        query_model=schemas.OrderQuery,
        error_statuses=(401, 422, 429),
        addition=True,
        links={"getShipment": _by_shipment_id("getShipment", "$response.body#/items/0/id")},
    ),
)
