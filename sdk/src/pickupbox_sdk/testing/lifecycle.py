"""What can happen to a shipment of the test sandbox: (stage, act) → stage and events, as a table."""

from typing import NamedTuple


class Face(NamedTuple):
    """What the shop sees of a stage."""

    status: str
    compartment_state: str
    pickup_enabled: bool = False


FACES = {
    "reserved": Face("reserved", "reserved"),
    "protected": Face("loaded", "occupied"),
    "ready": Face("loaded", "occupied", pickup_enabled=True),
    "cooling": Face("picked_up", "cooldown"),
    "collected": Face("picked_up", "available"),
    "cancelled_held": Face("cancelled", "awaiting_removal"),
    "expired_held": Face("expired", "awaiting_removal"),
    "fault_held": Face("fault", "awaiting_removal"),
    "cancelled": Face("cancelled", "available"),
    "expired": Face("expired", "available"),
    "fault": Face("fault", "available"),
}


class Told(NamedTuple):
    """An event, and the stage that it shows."""

    event: str
    stage: str


class Step(NamedTuple):
    stage: str
    tells: tuple[Told, ...]


def _to(stage: str, *events: str | Told) -> Step:
    return Step(stage, tuple(e if isinstance(e, Told) else Told(e, stage) for e in events))


_LIVE = ("protected", "ready")

# Acts are the sandbox's events by their names, `cancel`, and `protection_ended` by the clock.
STEPS: dict[tuple[str | None, str], Step] = {
    (None, "reserve"): _to("reserved", "reserved"),
    ("reserved", "loaded"): _to("protected"),
    ("reserved", "cancel"): _to("cancelled", "cancelled", "door_available"),
    ("reserved", "expired"): _to("expired", "expired", "door_available"),
    ("reserved", "fault"): _to("fault_held", "fault"),
    ("protected", "protection_ended"): _to("ready", "loaded"),
    ("protected", "picked_up"): _to("cooling", Told("loaded", "ready"), "picked_up"),
    ("ready", "picked_up"): _to("cooling", "picked_up"),
    **{(stage, "cancel"): _to("cancelled_held", "cancelled") for stage in _LIVE},
    **{(stage, "expired"): _to("expired_held", "expired") for stage in _LIVE},
    **{(stage, "fault"): _to("fault_held", "fault") for stage in _LIVE},
    ("cooling", "door_available"): _to("collected", "door_available"),
    **{
        (f"{end}_held", "removed"): _to(end, Told("removed", f"{end}_held"), "door_available")
        for end in ("cancelled", "expired", "fault")
    },
}
