"""How a door looks and what it is called: the fill is its compartment's state, the edge is its sensor."""

from dataclasses import dataclass
from datetime import datetime

from pickupbox.admin.words import _
from pickupbox.database.box_pages import Door
from pickupbox.domain.lifecycle import FACES, CompartmentState, Stage

ICONS = {
    "available": "check",
    "reserved": "calendar-time",
    "occupied": "package",
    "awaiting": "hand-stop",
    "cooldown": "snowflake",
    "out": "tool",
    "withheld": "clock-pause",
}
_FILLS = {
    CompartmentState.RESERVED: "reserved",
    CompartmentState.OCCUPIED: "occupied",
    CompartmentState.AWAITING_REMOVAL: "awaiting",
    CompartmentState.COOLDOWN: "cooldown",
    CompartmentState.AVAILABLE: "available",
}


@dataclass(frozen=True, slots=True)
class Face:
    code: str
    fill: str
    icon: str
    words: str
    edge: str  # closed, ajar or unknown
    edge_words: str
    shipment_id: str | None
    since: datetime | None
    until: datetime | None
    in_service: bool

    @property
    def name(self) -> str:
        """As a screen reader says it: "A3, occupied, door closed"."""
        return f"{self.code}, {self.words}, {self.edge_words}"


def face_of(door: Door) -> Face:
    fill = fill_of(door)
    edge = "unknown" if door.is_open is None else "ajar" if door.is_open else "closed"
    return Face(
        code=door.code,
        fill=fill,
        icon=ICONS[fill],
        words=_stage_words(Stage(door.stage)) if door.stage else _fill_words(fill),
        edge=edge,
        edge_words=_edge_words(edge),
        shipment_id=door.shipment_id,
        since=door.since,
        until=door.due_at,
        in_service=door.in_service,
    )


def fill_of(door: Door) -> str:
    if door.stage is not None:
        return _FILLS[FACES[Stage(door.stage)].compartment_state]
    if not door.in_service:
        return "out"
    return "withheld" if door.withheld else "available"


def _fill_words(fill: str) -> str:
    match fill:
        case "out":
            return _("out of service")
        case "withheld":
            return _("waits for the box")
        case _:
            return _("available")


def _stage_words(stage: Stage) -> str:
    match stage:
        case Stage.RESERVED:
            return _("reserved")
        case Stage.LOADING:
            return _("being loaded")
        case Stage.PROTECTED:
            return _("loaded, protected")
        case Stage.CORRECTING:
            return _("being corrected")
        case Stage.READY:
            return _("occupied")
        case Stage.COLLECTING:
            return _("being picked up")
        case Stage.COOLING:
            return _("cooldown")
        case _:
            return _("awaits removal")


def _edge_words(edge: str) -> str:
    match edge:
        case "closed":
            return _("door closed")
        case "ajar":
            return _("door open")
        case _:
            return _("door never heard of")
