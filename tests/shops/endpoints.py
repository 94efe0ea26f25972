"""Where the demo's webhooks go, and what a webhook looks like that somebody else made."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any

import httpx
from pickupbox_sdk import webhooks

from tests.browser.offices import Street
from tests.readme.demos import without_settings

SECONDS = 30.0
COMMAND_SECONDS = 120.0  # a command imports the whole service


@contextmanager
def told(street: Street, url: str) -> Iterator[str]:
    """The secret of a new endpoint of the demo's tenant."""
    added = json.loads(_pickupbox(street, "add", "--url", url, "--json"))
    try:
        yield added["secret"]
    finally:
        _pickupbox(street, "remove", added["id"])


def _pickupbox(street: Street, command: str, *options: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "pickupbox", "webhook", command, *options, "--tenant", street.said["tenant"]],
        env=without_settings() | {"PICKUPBOX_DATABASE_URL": street.said["database_url"]},
        check=True,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
    ).stdout


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
