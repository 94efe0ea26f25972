"""The public names, and that both clients have the same calls. A name that leaves this list breaks shops."""

import ast
import inspect
import sys
from pathlib import Path

import pytest

import pickupbox_sdk
from pickupbox_sdk import AsyncPickupbox, Pickupbox, testing, webhooks

NAMES = [
    "ApiError",
    "AsyncPickupbox",
    "Box",
    "BoxNotFound",
    "CompartmentNotReleased",
    "CompartmentState",
    "Conflict",
    "ConnectionFailed",
    "CreatedShipment",
    "Event",
    "EventData",
    "EventNotFound",
    "EventPage",
    "EventType",
    "ExternalOrderConflict",
    "InternalError",
    "InvalidApiKey",
    "InvalidRequest",
    "InvalidSandboxTransition",
    "MethodNotAllowed",
    "NoCompartmentAvailable",
    "NotFound",
    "PickupPin",
    "Pickupbox",
    "PickupboxError",
    "PinNotAvailable",
    "RateLimited",
    "Shipment",
    "ShipmentNotCancellable",
    "ShipmentNotFaulted",
    "ShipmentNotFound",
    "Status",
    "TemporarilyUnavailable",
    "UnexpectedAnswer",
    "ValidationFailed",
    "VerificationFailed",
    "webhooks",
]
CALLS = [
    "cancel_shipment",
    "create_shipment",
    "events",
    "find_shipments",
    "get_pickup_pin",
    "get_shipment",
    "list_boxes",
    "list_events",
    "retry_shipment",
    "simulate_event",
]
SANDBOX = [
    "add_box",
    "api_key",
    "async_client",
    "base_url",
    "client",
    "deliver_to",
    "fail_next",
    "let_time_pass",
    "lose_next_answer",
    "webhook_secret",
]


def public(thing: object) -> list[str]:
    return sorted(name for name in dir(thing) if not name.startswith("_"))


def test_the_public_names_are_these() -> None:
    assert sorted(pickupbox_sdk.__all__) == sorted(NAMES)
    assert all(hasattr(pickupbox_sdk, name) for name in NAMES)


def test_the_names_of_webhooks_and_testing_are_these() -> None:
    assert sorted(webhooks.__all__) == ["Reason", "VerificationFailed", "sign", "verify"]
    assert sorted(testing.__all__) == ["Delivery", "Sandbox", "SandboxTransport"]
    assert public(testing.Sandbox) == sorted(SANDBOX)


def test_the_clients_have_these_calls_and_no_more() -> None:
    assert public(Pickupbox) == sorted([*CALLS, "close"])
    assert public(AsyncPickupbox) == sorted([*CALLS, "aclose"])


@pytest.mark.parametrize("name", [*CALLS, "__init__"])
def test_a_call_is_the_same_in_both_clients(name: str) -> None:
    sync, waits = (inspect.signature(getattr(client, name)) for client in (Pickupbox, AsyncPickupbox))
    own = {"transport", "sleep"}
    assert [p for p in sync.parameters.values() if p.name not in own] == [
        p for p in waits.parameters.values() if p.name not in own
    ]
    if name not in ("events", "__init__"):
        assert sync.return_annotation == waits.return_annotation
        assert inspect.getdoc(getattr(Pickupbox, name)) == inspect.getdoc(getattr(AsyncPickupbox, name))


def test_the_package_stands_on_the_standard_library_and_one_http_client() -> None:
    root = Path(pickupbox_sdk.__file__).parent
    imported = {
        name.partition(".")[0]
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported - set(sys.stdlib_module_names) == {"httpx2", "pickupbox_sdk", "pytest"}
