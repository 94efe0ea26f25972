"""Where the demo's webhooks go, and what a webhook looks like that somebody else made."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any

import httpx
from pickupbox_sdk import webhooks

from tests.browser.offices import Street

SECONDS = 30.0


@contextmanager
def told(street: Street, url: str) -> Iterator[str]:
    """The secret of a new endpoint of the demo's tenant."""
    tenant = ("--tenant", street.said["tenant"])
    added = json.loads(street.command("webhook", "add", "--url", url, "--json", *tenant))
    try:
        yield added["secret"]
    finally:
        street.command("webhook", "remove", added["id"], *tenant)


def send(url: str, secret: str | None, event: dict[str, Any], *, late: int = 0) -> int:
    """Post an event as the service would, signed with that secret if there is one; the status that comes back."""
    body = json.dumps(event).encode()
    headers = webhooks.sign(secret, event["id"], int(time.time()) - late, body) if secret else {}
    return httpx.post(url, content=body, headers=headers, timeout=SECONDS).status_code


def event_of(shipment: dict[str, Any], kind: str, **changes: Any) -> dict[str, Any]:
    """An event about a shipment that the API showed; with another id than any that was sent."""
    names = ("external_order_id", "attempt_number", "retry_of_shipment_id", "box_id", "compartment_code", "status")
    data = {name: shipment[name] for name in names} | {"shipment_id": shipment["id"], "box_name": "Central Station"}
    data |= {"compartment_state": "occupied", "pickup_available_at": None, "pickup_expires_at": None} | changes
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 60))
    return {"api_version": "1", "id": f"evt_{token_hex(16)}", "type": kind, "occurred_at": now, "data": data}
