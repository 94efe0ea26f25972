"""The OpenAPI 3.1 document, built from the schemas. It needs no key."""

from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response

from pickupbox.api import schemas
from pickupbox.api.operations import OPERATIONS, Operation
from pickupbox.api.requests import SHIPMENT_ID_PATTERN

INTERFACE_VERSION = "1.1.0"

_COMPONENTS: list[type[BaseModel]] = [
    schemas.PublicBoxRead,
    schemas.PublicBoxListResponse,
    schemas.PublicShipmentCreate,
    schemas.PublicShipmentRead,
    schemas.PublicShipmentCreateResponse,
    schemas.PublicPickupPinRead,
    schemas.SandboxTransitionRequest,
    schemas.PublicWebhookData,
    schemas.PublicWebhookEvent,
    schemas.PublicEventListResponse,
    schemas.PublicShipmentListResponse,
    schemas.PublicErrorDetail,
    schemas.PublicErrorResponse,
    schemas.ValidationError,
    schemas.HTTPValidationError,
]
_PUBLIC_NAMES = {"Status": "PublicShipmentStatus", "CompartmentState": "PublicCompartmentState"}
_REF = "#/components/schemas/"

_SHIPMENT_ID = {
    "name": "shipment_id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "minLength": 1, "maxLength": 64, "pattern": SHIPMENT_ID_PATTERN},
}
_SHIPMENTS = {"name": "Boxes and shipments", "description": "What a shop calls: reserve, read, cancel, retry."}
_SANDBOX = {"name": "Sandbox", "description": "Let happen what would happen at a box. Production does not have it."}
_ADDITIONS = {
    "name": "Additions to the interface",
    "description": "Operations that the contract does not have. Everything else works without them.",
}
_WEBHOOK_HEADERS = ["Service-Event-Id", "Service-Timestamp", "Service-Signature"]
_MEANINGS = {
    400: "Invalid request",
    401: "Invalid or missing API key",
    404: "Resource not found",
    409: "Business rule conflict",
    422: "Validation failed",
    429: "Rate limit exceeded",
}


def document(environment: str) -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        if environment == "sandbox" or not operation.sandbox_only:
            paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, environment)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Pickup-Box Shipment Service",
            "version": INTERFACE_VERSION,
            "description": "Reserve compartments in pickup boxes and follow shipments.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/v1", "description": environment}],
        "security": [{"ApiKey": []}],
        "tags": [_SHIPMENTS, *([_SANDBOX] if environment == "sandbox" else []), _ADDITIONS],
        "paths": paths,
        "webhooks": {"shipmentEvent": {"post": _webhook()}},
        "components": {
            "schemas": _components(),
            "securitySchemes": {"ApiKey": {"type": "http", "scheme": "bearer", "description": "An API key"}},
        },
    }


def _operation(operation: Operation, environment: str) -> dict[str, Any]:
    success: dict[str, Any] = {
        "description": operation.success_text,
        "content": _json(operation.success_model.__name__),
    }
    links = {
        name: link for name, link in operation.links.items() if environment == "sandbox" or name != "simulateEvent"
    }
    if links:
        success["links"] = links
    described: dict[str, Any] = {
        "operationId": operation.id,
        "summary": operation.summary,
        "description": operation.description,
        "responses": {str(operation.success_status): success}
        | {str(status): _error(status, operation) for status in operation.error_statuses},
    }
    if "{shipment_id}" in operation.path:
        described["parameters"] = [_SHIPMENT_ID]
    if operation.query_model:
        described["parameters"] = _query_parameters(operation.query_model)
    group = _ADDITIONS if operation.addition else _SANDBOX if operation.sandbox_only else _SHIPMENTS
    described["tags"] = [group["name"]]
    if operation.addition:
        described["x-addition"] = True
    if operation.body_model:
        described["requestBody"] = {"required": True, "content": _json(operation.body_model.__name__)}
    return described


def _error(status: int, operation: Operation) -> dict[str, Any]:
    framework_body = status == 422 and "{shipment_id}" in operation.path and operation.body_model is None
    model = schemas.HTTPValidationError if framework_body else schemas.PublicErrorResponse
    return {"description": _MEANINGS[status], "content": _json(model.__name__)}


def _query_parameters(model: type[BaseModel]) -> list[dict[str, Any]]:
    described = model.model_json_schema()
    parameters = []
    for name, schema in _without_titles(described["properties"]).items():
        text = schema.pop("description")
        if "anyOf" in schema:  # a query has no null: the parameter is left out
            schema = schema["anyOf"][0]
        required = name in described.get("required", [])
        parameters.append({"name": name, "in": "query", "required": required, "description": text, "schema": schema})
    return parameters


def _webhook() -> dict[str, Any]:
    return {
        "operationId": "receiveShipmentEvent",
        "summary": "A shipment event, sent by the service to the shop",
        "description": "Signed and at least once: tolerate duplicates by the event's id. Answer 200 to accept.",
        "security": [],
        "parameters": [
            {"name": name, "in": "header", "required": True, "schema": {"type": "string"}} for name in _WEBHOOK_HEADERS
        ],
        "requestBody": {"required": True, "content": _json("PublicWebhookEvent")},
        "responses": {"200": {"description": "Accepted"}},
    }


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"{_REF}{name}"}}}


def _components() -> dict[str, Any]:
    _, definitions = models_json_schema([(model, "validation") for model in _COMPONENTS], ref_template=_REF + "{model}")
    text = orjson.dumps(_without_titles(definitions["$defs"])).decode()
    for ours, public in _PUBLIC_NAMES.items():
        text = text.replace(f'"{_REF}{ours}"', f'"{_REF}{public}"').replace(f'"{ours}":', f'"{public}":')
    components: dict[str, Any] = orjson.loads(text)
    for optional in ("input", "ctx"):
        components["ValidationError"]["properties"][optional].pop("default", None)
    components["HTTPValidationError"]["properties"]["detail"].pop("default", None)
    published = {model.__name__ for model in _COMPONENTS} | set(_PUBLIC_NAMES.values())
    return {name: components[name] for name in sorted(published)}


def _without_titles(node: Any) -> Any:
    """Pydantic repeats every field's name as a title; a field that is called title would stay."""
    if isinstance(node, dict):
        return {
            key: _without_titles(value)
            for key, value in node.items()
            if not (key == "title" and isinstance(value, str))
        }
    return [_without_titles(item) for item in node] if isinstance(node, list) else node


def openapi(environment: str) -> Callable[[Request], Awaitable[Response]]:
    body = orjson.dumps(document(environment), option=orjson.OPT_INDENT_2)

    async def openapi_document(_: Request) -> Response:
        return Response(body, media_type="application/json")

    return openapi_document
