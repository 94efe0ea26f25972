"""The bytes of a webhook: PublicWebhookEvent. They are the same at every attempt. Pure."""

import json
from datetime import datetime, timedelta

from pickupbox.domain.lifecycle import CompartmentState, Event, Status


def body_of(event_id: str, event_type: str, occurred_at: datetime, data: str) -> bytes:
    """`data` is JSON as the event row holds it; the other values need no escaping: they are ours."""
    return (
        f'{{"api_version":"1","id":"{event_id}","type":"{event_type}",'
        f'"occurred_at":"{_text(occurred_at)}","data":{data}}}'
    ).encode()


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def example_of(cell: str, event_id: str, event_type: Event, now: datetime) -> bytes:
    """An event of that type as it would be, about a shipment that does not exist."""
    status, state = _EXAMPLES[event_type]
    loaded = status not in (Status.RESERVED, Status.CANCELLED)
    data = {
        "shipment_id": f"shp_{cell}_example",
        "external_order_id": "example-order",
        "attempt_number": 1,
        "retry_of_shipment_id": None,
        "box_id": f"box_{cell}_example",
        "box_name": "Example box",
        "compartment_code": "A1",
        "status": status,
        "compartment_state": state,
        "pickup_available_at": _text(now) if loaded else None,
        "pickup_expires_at": _text(now + timedelta(days=2)) if loaded else None,
    }
    return body_of(event_id, event_type, now, json.dumps(data))


# What a shipment shows at each event, in the most usual history that leads there.
_EXAMPLES = {
    Event.RESERVED: (Status.RESERVED, CompartmentState.RESERVED),
    Event.LOADED: (Status.LOADED, CompartmentState.OCCUPIED),
    Event.PICKED_UP: (Status.PICKED_UP, CompartmentState.COOLDOWN),
    Event.EXPIRED: (Status.EXPIRED, CompartmentState.AWAITING_REMOVAL),
    Event.CANCELLED: (Status.CANCELLED, CompartmentState.AVAILABLE),
    Event.FAULT: (Status.FAULT, CompartmentState.AWAITING_REMOVAL),
    Event.REMOVED: (Status.FAULT, CompartmentState.AWAITING_REMOVAL),
    Event.DOOR_AVAILABLE: (Status.PICKED_UP, CompartmentState.AVAILABLE),
}
