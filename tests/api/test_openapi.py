"""The OpenAPI document equals the contract, and what is served equals the document."""

from typing import Any

import pytest
import pytest_asyncio
from openapi_spec_validator import OpenAPIV31SpecValidator
from starlette.routing import Route
from starlette.types import ASGIApp

from pickupbox.api.app import routes
from tests.api.additions import ADDED_COMPONENTS, ADDITIONS, PARAMETERS, SERVED
from tests.api.contract import COMPONENTS, OPERATIONS, WEBHOOK_HEADERS, Operation
from tests.support.shop import client_of

every_served = pytest.mark.parametrize("operation", SERVED, ids=lambda operation: operation.name)
every_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)


@pytest_asyncio.fixture
async def document(app: ASGIApp) -> dict[str, Any]:
    async with client_of(app) as client:
        answer = await client.get("/openapi.json")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    found: dict[str, Any] = answer.json()
    return found


def described(document: dict[str, Any], operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = document["paths"][operation.path][operation.method.lower()]
    return found


def schema_of(content: dict[str, Any]) -> str:
    reference: str = content["content"]["application/json"]["schema"]["$ref"]
    return reference.removeprefix("#/components/schemas/")


def bare(node: Any) -> Any:
    """A schema without what only explains: descriptions, and the null that an omitted field stands for."""
    if isinstance(node, dict):
        kept = {
            key: bare(value) for key, value in node.items() if not (key == "description" and isinstance(value, str))
        }
        if kept.get("default", ...) is None:
            del kept["default"]
        return kept
    return [bare(item) for item in node] if isinstance(node, list) else node


async def test_the_document_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")
    assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []


async def test_the_components_are_those_of_the_contract(document: dict[str, Any]) -> None:
    assert set(document["components"]["schemas"]) - set(ADDED_COMPONENTS) == set(COMPONENTS)


@pytest.mark.parametrize("name", [*COMPONENTS, *ADDED_COMPONENTS])
async def test_a_component_equals_the_contract(document: dict[str, Any], name: str) -> None:
    found, expected = bare(document["components"]["schemas"][name]), dict((COMPONENTS | ADDED_COMPONENTS)[name])
    assert sorted(found.pop("required", [])) == sorted(expected.pop("required", []))
    assert found == expected


async def test_the_operations_are_those_of_the_contract(document: dict[str, Any]) -> None:
    found = {
        (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if "x-addition" not in operation
    }
    assert found == {(operation.method, operation.path) for operation in OPERATIONS}


async def test_what_the_contract_does_not_have_is_marked_as_an_addition(document: dict[str, Any]) -> None:
    tag = document["tags"][-1]
    assert tag["name"] == "Additions to the interface"
    marked = {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if operation.get("x-addition") or tag["name"] in operation["tags"]
    }
    assert set(marked) == {(operation.method, operation.path) for operation in ADDITIONS}
    for operation in marked.values():
        assert (operation["x-addition"], operation["tags"]) == (True, [tag["name"]])
        assert operation["description"].startswith("An addition to the interface.")


@pytest.mark.parametrize("operation", ADDITIONS, ids=lambda operation: operation.name)
async def test_an_addition_takes_exactly_its_query(document: dict[str, Any], operation: Operation) -> None:
    found = described(document, operation)
    assert "requestBody" not in found
    assert {p["in"] for p in found["parameters"]} == {"query"}
    assert {p["name"]: (p["required"], p["schema"]) for p in found["parameters"]} == PARAMETERS[operation.name]
    assert all(p["description"] for p in found["parameters"])


@every_served
async def test_an_operation_lists_exactly_its_statuses(document: dict[str, Any], operation: Operation) -> None:
    expected = {str(operation.success), *map(str, operation.errors)}
    assert set(described(document, operation)["responses"]) == expected


@every_served
async def test_an_operation_answers_with_its_bodies(document: dict[str, Any], operation: Operation) -> None:
    responses = described(document, operation)["responses"]
    assert schema_of(responses[str(operation.success)]) == operation.answer
    for status in operation.errors:
        # On the path-parameter operations 422 is the framework's body; with a request body it is the envelope.
        framework = status == 422 and operation.body is None and operation not in ADDITIONS
        assert schema_of(responses[str(status)]) == ("HTTPValidationError" if framework else "PublicErrorResponse")


@every_operation
async def test_an_operation_takes_its_body_and_its_path_parameter(
    document: dict[str, Any], operation: Operation
) -> None:
    found = described(document, operation)
    if operation.body is None:
        assert "requestBody" not in found
    else:
        assert found["requestBody"]["required"] is True
        assert schema_of(found["requestBody"]) == operation.body
    parameters = [(p["name"], p["in"], p["required"], p["schema"]["type"]) for p in found.get("parameters", [])]
    by_id = [("shipment_id", "path", True, "string")]
    assert parameters == (by_id if "{shipment_id}" in operation.path else [])


async def test_every_operation_takes_the_key_as_a_bearer_credential(document: dict[str, Any]) -> None:
    (name,) = document["components"]["securitySchemes"]
    scheme = document["components"]["securitySchemes"][name]
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")
    assert document["security"] == [{name: []}]
    for operation in SERVED:
        assert "security" not in described(document, operation)


async def test_the_webhook_is_described(document: dict[str, Any]) -> None:
    (webhook,) = document["webhooks"].values()
    assert schema_of(webhook["post"]["requestBody"]) == "PublicWebhookEvent"
    headers = [(p["name"], p["in"], p["required"], p["schema"]["type"]) for p in webhook["post"]["parameters"]]
    assert headers == [(name, "header", True, "string") for name in WEBHOOK_HEADERS]
    assert "200" in webhook["post"]["responses"]
    assert webhook["post"]["security"] == []


async def test_the_version_is_in_the_document_and_in_the_base_address(document: dict[str, Any]) -> None:
    assert document["info"]["version"] == "1.1.0"
    assert [server["url"] for server in document["servers"]] == ["/v1"]


@pytest.mark.parametrize("environment", ["sandbox", "production"])
async def test_what_is_served_under_the_base_address_is_what_the_document_says(
    document: dict[str, Any], environment: str
) -> None:
    served = {
        (method, route.path)
        for route in routes(environment)
        if isinstance(route, Route) and route.path.startswith("/v1/")
        for method in route.methods or ()
        if method != "HEAD"
    }
    expected = {
        (operation.method, f"/v1{operation.path}")
        for operation in SERVED
        if environment == "sandbox" or not operation.path.startswith("/sandbox")
    }
    page = {("GET", f"/v1/docs/{name}") for name in ("reference.css", "reference.js", "scalar.js")}
    assert served - expected == {("GET", "/v1/openapi.json"), ("GET", "/v1/docs")} | page
    assert expected <= served


async def test_links_name_operations_and_parameters_that_exist(document: dict[str, Any]) -> None:
    by_id = {
        operation["operationId"]: {parameter["name"] for parameter in operation.get("parameters", [])}
        for methods in document["paths"].values()
        for operation in methods.values()
    }
    ids_in_paths = {"shipment_id"}
    links = [
        link
        for methods in document["paths"].values()
        for operation in methods.values()
        for response in operation["responses"].values()
        for link in response.get("links", {}).values()
    ]
    assert len(links) > len(by_id)
    for link in links:
        parameters, given = by_id[link["operationId"]], set(link.get("parameters", {}))
        assert given <= parameters
        assert given >= parameters & ids_in_paths


async def test_the_document_and_its_page_need_no_key(app: ASGIApp) -> None:
    async with client_of(app) as stranger:
        page = await stranger.get("/docs")
        assert (await stranger.get("/openapi.json")).status_code == 200
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    for operation in SERVED:
        assert f"{operation.method} {operation.path}" in page.text
    assert page.text.count("Addition to the interface") == len(ADDITIONS)
