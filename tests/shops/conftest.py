"""Fixtures: Chromium, one demo for all shops, and empty boxes for each test."""

from collections.abc import Iterator

import httpx
import pytest

from tests.browser.conftest import browser as browser
from tests.browser.conftest import picture as picture
from tests.browser.offices import Street, a_street

EMPTIES = {
    "reserved": "expired",
    "occupied": "expired",
    "awaiting_removal": "removed",
    "cooldown": "door_available",
}


@pytest.fixture(scope="session")
def street(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Street]:
    with a_street(tmp_path_factory.mktemp("street")) as street:
        yield street


@pytest.fixture(scope="session")
def emptied() -> set[str]:
    return set()


@pytest.fixture(autouse=True)
def empty_boxes(street: Street, emptied: set[str]) -> Iterator[None]:
    """What a test left in the boxes is taken out: a box has twelve compartments."""
    yield
    headers = {"Authorization": f"Bearer {street.said['api_key']}"}
    with httpx.Client(base_url=street.said["base_url"], headers=headers, timeout=30) as http:
        told = http.get("/events?limit=1000").json()["items"]
        for shipment in {event["data"]["shipment_id"] for event in told} - emptied:
            while event := EMPTIES.get(http.get(f"/shipments/{shipment}").json()["compartment_state"]):
                http.post(f"/sandbox/shipments/{shipment}/events", json={"event": event})
            emptied.add(shipment)
