"""The SDK against the OpenAPI document and the catalogue of refusals: nothing is missing, or called otherwise."""

import ast
import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pickupbox_sdk import (
    AsyncPickupbox,
    Box,
    CompartmentState,
    CreatedShipment,
    Event,
    EventData,
    EventPage,
    EventType,
    Pickupbox,
    PickupPin,
    Shipment,
    Status,
    calls,
)
from pickupbox_sdk import errors as ours
from pickupbox_sdk.calls import Call
from pickupbox_sdk.testing import checks

import pickupbox
from pickupbox.api.errors import status_of
from pickupbox.api.openapi import document
from pickupbox.domain import errors as catalogue
from pickupbox.domain.errors import Refusal

DOCUMENT = document("sandbox")
SCHEMAS = DOCUMENT["components"]["schemas"]
OPERATIONS = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
MODELS: dict[str, type[Any]] = {
    "PublicBoxRead": Box,
    "PublicShipmentRead": Shipment,
    "PublicShipmentCreateResponse": CreatedShipment,
    "PublicPickupPinRead": PickupPin,
    "PublicWebhookData": EventData,
    "PublicWebhookEvent": Event,
    "PublicEventListResponse": EventPage,
}
NOT_IN_A_BODY = {"CreatedShipment": {"replayed"}, "EventPage": {"answered"}}  # from a header; the body itself
CALLS: dict[str, Call[Any]] = {
    "listBoxes": calls.list_boxes(),
    "createShipment": calls.create_shipment("box_1", "order-1", "Ada", 15, 60),
    "getShipment": calls.get_shipment("{shipment_id}"),
    "getPickupPin": calls.get_pickup_pin("{shipment_id}"),
    "cancelShipment": calls.cancel_shipment("{shipment_id}"),
    "retryShipment": calls.retry_shipment("{shipment_id}"),
    "simulateEvent": calls.simulate_event("{shipment_id}", "loaded"),
    "listEvents": calls.list_events("evt_1", 100),
    "findShipments": calls.find_shipments("order-1"),
}


def snake(operation_id: str) -> str:
    return re.sub(r"([A-Z])", lambda capital: "_" + capital[1].lower(), operation_id)


def in_document(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema whose references can be followed."""
    return {**schema, "components": DOCUMENT["components"]}


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_every_operation_has_a_method_of_its_name_in_both_clients(operation_id: str) -> None:
    for client in (Pickupbox, AsyncPickupbox):
        assert callable(getattr(client, snake(operation_id)))
    assert operation_id in CALLS


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_a_call_is_sent_as_the_document_says(operation_id: str) -> None:
    method, path, operation = OPERATIONS[operation_id]
    call = CALLS[operation_id]
    assert (call.method, call.path.replace("%7B", "{").replace("%7D", "}")) == (method, path)
    taken = {p["name"]: p["schema"] for p in operation.get("parameters", []) if p["in"] == "query"}
    assert set(call.params or {}) == set(taken)
    for name, value in (call.params or {}).items():
        jsonschema.validate(value, taken[name])
    if "requestBody" in operation:
        jsonschema.validate(call.body, in_document(operation["requestBody"]["content"]["application/json"]["schema"]))
    else:
        assert call.body is None


def test_every_field_of_a_create_can_be_sent() -> None:
    assert set(CALLS["createShipment"].body or {}) == set(SCHEMAS["PublicShipmentCreate"]["properties"])
    least = calls.create_shipment("box_1", "order-1").body
    jsonschema.validate(least, in_document(SCHEMAS["PublicShipmentCreate"]))
    assert set(least or {}) == set(SCHEMAS["PublicShipmentCreate"]["required"])


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_the_fields_of_its_schema(name: str) -> None:
    model, schema = MODELS[name], SCHEMAS[name]
    own = NOT_IN_A_BODY.get(model.__name__, set())
    assert {field.name for field in fields(model)} - own == set(schema["properties"])
    assert {field.name for field in fields(model) if field.default is MISSING} == set(schema["required"])


def test_every_answer_of_the_document_is_read_by_some_model() -> None:
    read = {*MODELS, "PublicBoxListResponse", "PublicShipmentListResponse"}
    answered = {
        answer["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for _, _, operation in OPERATIONS.values()
        for status, answer in operation["responses"].items()
        if status < "300"
    }
    assert answered <= read
    for name in ("PublicBoxListResponse", "PublicShipmentListResponse"):
        assert set(SCHEMAS[name]["properties"]) == {"items"}


def test_the_words_are_those_of_the_document() -> None:
    assert [*Status] == SCHEMAS["PublicShipmentStatus"]["enum"]
    assert [*CompartmentState] == SCHEMAS["PublicCompartmentState"]["enum"]
    assert [*EventType] == SCHEMAS["PublicWebhookEvent"]["properties"]["type"]["enum"]
    assert [*checks.SANDBOX_EVENTS] == SCHEMAS["SandboxTransitionRequest"]["properties"]["event"]["enum"]


def codes_of_the_api() -> dict[str, type[Refusal]]:
    """The refusals that some module of the API, or of a use case that it takes, can name."""
    root = Path(pickupbox.__file__).parent
    waiting, seen, named = [f"pickupbox.api.{name}" for name in ("endpoints", "entrance", "requests")], set(), set()
    while waiting:
        module = waiting.pop()
        seen.add(module)
        path = root.joinpath(*module.split(".")[1:]).with_suffix(".py")
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or node.module is None:
                continue
            if node.module == "pickupbox.domain.errors":
                named |= {alias.name for alias in node.names}
            elif re.match(r"pickupbox\.(api|usecases|database)\.", node.module):
                waiting += {node.module} - seen
    kinds = [getattr(catalogue, name) for name in named]
    return {kind.code: kind for kind in kinds if isinstance(kind, type) and hasattr(kind, "code")}


def test_every_refusal_that_the_api_can_answer_has_its_class() -> None:
    assert set(ours.BY_CODE) == set(codes_of_the_api())


@pytest.mark.parametrize("code", ours.BY_CODE)
def test_a_class_is_called_as_its_refusal_is_and_says_the_same(code: str) -> None:
    refusal, kind = codes_of_the_api()[code], ours.BY_CODE[code]
    assert kind.__name__ == refusal.__name__
    assert [base.__name__ for base in kind.__mro__ if base.__module__ == ours.__name__][1:-2] == [
        base.__name__ for base in refusal.__mro__ if base.__module__ == catalogue.__name__
    ][1:-1]
    paragraphs = [" ".join(text.split()) for text in (kind.__doc__ or "").split("\n\n")]
    assert paragraphs == [refusal.message(), refusal.cure()]


@pytest.mark.parametrize("code", ours.BY_CODE)
def test_a_class_has_the_status_of_its_refusal(code: str) -> None:
    assert ours.BY_CODE[code].status == status_of(codes_of_the_api()[code]())
