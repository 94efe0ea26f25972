"""The lifecycle table as two pictures and a table. Where things stand is said here; what leads where is not.

An edge of the table that a picture has no place for, or a place that no edge needs, fails.
"""

from dataclasses import dataclass

from documentation.drawing import Arrow, Node, Point, picture
from pickupbox.domain.lifecycle import FACES, TRANSITIONS, CompartmentState, Stage, Status, Trigger

# What the public sees. The three ends are taken together: they differ in name alone.
RESERVED, PROTECTED, READY, COOLDOWN, COLLECTED = "reserved", "protected", "ready", "cooldown", "collected"
HELD, RELEASED = "held", "released"

Ends = tuple[str, str]
Edges = dict[Ends, dict[Trigger, tuple[str, ...]]]

_HEIGHT = 60.0
_KINDS = {CompartmentState.AWAITING_REMOVAL: "held", CompartmentState.AVAILABLE: "free"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where an edge runs, and where its text stands."""

    points: tuple[Point, ...]
    at: Point
    upright: bool = False


def face_of(stage: Stage | None) -> str:
    """The node of the public picture that shows this stage."""
    if stage is None:
        return ""
    face = FACES[stage]
    free = face.compartment_state is CompartmentState.AVAILABLE
    match face.status:
        case Status.RESERVED:
            return RESERVED
        case Status.LOADED:
            return READY if face.pickup_enabled else PROTECTED
        case Status.PICKED_UP:
            return COLLECTED if free else COOLDOWN
        case _:
            return RELEASED if free else HELD


def public_edges() -> Edges:
    """From what the public sees to what it sees next: the triggers, each with the events that are told."""
    edges: Edges = {}
    for (stage, trigger), step in TRANSITIONS.items():
        ends = (face_of(stage), face_of(step.stage))
        if ends[0] != ends[1]:
            edges.setdefault(ends, {})[trigger] = tuple(emission.event for emission in step.emits)
    return edges


def stage_edges() -> Edges:
    """From stage to stage, without the ways to the three ends."""
    edges: Edges = {}
    for (stage, trigger), step in TRANSITIONS.items():
        if face_of(step.stage) not in (HELD, RELEASED):
            events = tuple(emission.event for emission in step.emits)
            edges.setdefault((stage or "", step.stage), {})[trigger] = events
    return edges


def public_picture() -> str:
    left, right, width, wide = 40.0, 296.0, 190.0, 216.0
    rows = (44.0, 164.0, 284.0, 404.0, 524.0)
    held, middle, trunk, far = 224.0, 135.0, 272.0, 528.0
    corners = {HELD: (right, held), RELEASED: (right, rows[4])} | {
        name: (left, row) for name, row in zip((RESERVED, PROTECTED, READY, COOLDOWN, COLLECTED), rows, strict=True)
    }

    def down(row: int) -> Place:
        begin = rows[row] + _HEIGHT
        return Place(((middle, begin), (middle, rows[row + 1])), (middle + 10, begin + 25))

    def out(row: int, text: float) -> Place:
        y, into = rows[row] + 30, held + 30
        return Place(((left + width, y), (trunk, y), (trunk, into), (right, into)), (trunk + 12, rows[row] + text))

    places = {
        ("", RESERVED): Place(((middle, 12), (middle, rows[0])), (middle + 14, 18)),
        (RESERVED, PROTECTED): down(0),
        (PROTECTED, READY): down(1),
        (READY, COOLDOWN): down(2),
        (COOLDOWN, COLLECTED): down(3),
        (PROTECTED, COOLDOWN): Place(
            ((left, rows[1] + 30), (22, rows[1] + 30), (22, rows[3] + 30), (left, rows[3] + 30)),
            (15, 426),
            upright=True,
        ),
        (RESERVED, RELEASED): Place(
            ((left + width, rows[0] + 18), (far, rows[0] + 18), (far, rows[4] + 30), (right + wide, rows[4] + 30)),
            (right + 14, rows[0] + 10),
        ),
        (RESERVED, HELD): Place(
            ((left + width, rows[0] + 42), (right + 180, rows[0] + 42), (right + 180, held)), (right + 38, rows[0] + 64)
        ),
        (PROTECTED, HELD): out(1, 16),
        (READY, HELD): out(2, 50),
        (HELD, RELEASED): Place(((right + 180, held + _HEIGHT), (right + 180, rows[4])), (right + 38, rows[3] + 10)),
    }
    return _drawn(
        "public",
        "What a shop sees of a shipment",
        (far + 12, rows[4] + _HEIGHT + 8),
        [_public_node(name, corner, wide if corner[0] == right else width) for name, corner in corners.items()],
        public_edges(),
        places,
    )


def _public_node(name: str, corner: Point, width: float) -> Node:
    stages = [stage for stage in Stage if face_of(stage) == name]
    statuses = sorted({FACES[stage].status for stage in stages}, key=list(Status).index)
    (state,) = {FACES[stage].compartment_state for stage in stages}
    (enabled,) = {FACES[stage].pickup_enabled for stage in stages}
    more = [f"compartment {state}"]
    if statuses == [Status.LOADED]:
        more.append("pickup enabled" if enabled else "pickup not enabled yet")
    return Node(*corner, width, _HEIGHT, _KINDS.get(state, "way"), " · ".join(statuses), tuple(more))


def stage_picture() -> str:
    left, right, width = 40.0, 330.0, 186.0
    rows = (44.0, 164.0, 284.0, 404.0, 524.0)
    middle, over, far = left + 124, left + width, right + width + 16
    closed = (Stage.RESERVED, Stage.PROTECTED, Stage.READY, Stage.COOLING, Stage.COLLECTED)
    opened = (Stage.LOADING, Stage.CORRECTING, Stage.COLLECTING)
    corners = {stage: (left, row) for stage, row in zip(closed, rows, strict=True)} | {
        stage: (right, row) for stage, row in zip(opened, rows, strict=False)
    }

    def down(row: int, text: float) -> Place:
        begin = rows[row] + _HEIGHT
        return Place(((middle, begin), (middle, rows[row + 1])), (text, begin + 24))

    def across(row: int, *, back: bool = False) -> Place:
        y = rows[row] + (44 if back else 18)
        line = ((over, y), (right, y))
        return Place(line[::-1] if back else line, (over + 9, y + (16 if back else -6)))

    def beneath(row: int, text: float) -> Place:
        begin, bend, x = rows[row] + _HEIGHT, rows[row] + 94, right + width / 2
        return Place(((x, begin), (x, bend), (over - 24, bend), (over - 24, rows[row + 1])), (over + 9, bend - text))

    places = {
        ("", Stage.RESERVED): Place(((middle, 12), (middle, rows[0])), (middle + 14, 18)),
        (Stage.RESERVED, Stage.LOADING): across(0),
        (Stage.RESERVED, Stage.PROTECTED): down(0, left + 6),
        (Stage.LOADING, Stage.PROTECTED): beneath(0, 7),
        (Stage.PROTECTED, Stage.CORRECTING): across(1),
        (Stage.CORRECTING, Stage.PROTECTED): across(1, back=True),
        (Stage.PROTECTED, Stage.READY): down(1, left + 6),
        (Stage.PROTECTED, Stage.COOLING): Place(
            ((left, rows[1] + 30), (22, rows[1] + 30), (22, rows[3] + 30), (left, rows[3] + 30)),
            (15, 426),
            upright=True,
        ),
        (Stage.CORRECTING, Stage.COOLING): Place(
            ((right + width, rows[1] + 30), (far, rows[1] + 30), (far, rows[3] + 30), (over, rows[3] + 30)),
            (over + 60, rows[3] + 50),
        ),
        (Stage.READY, Stage.COLLECTING): across(2),
        (Stage.READY, Stage.COOLING): down(2, left + 6),
        (Stage.COLLECTING, Stage.COOLING): beneath(2, 23),
        (Stage.COOLING, Stage.COLLECTED): down(3, middle + 10),
    }
    return _drawn(
        "stages",
        "The stages of a shipment, with its door",
        (far + 12, rows[4] + _HEIGHT + 8),
        [
            Node(*corner, width, _HEIGHT, "free" if stage is Stage.COLLECTED else "way", stage, _ways_out(stage))
            for stage, corner in corners.items()
        ],
        stage_edges(),
        {(str(begin), str(end)): place for (begin, end), place in places.items()},
    )


def _ways_out(stage: Stage) -> tuple[str, ...]:
    """Which triggers lead from here to an end that is held, and to one that is released."""
    ways: dict[str, list[str]] = {}
    for (begin, trigger), step in TRANSITIONS.items():
        if begin is stage and (end := face_of(step.stage)) in (HELD, RELEASED):
            ways.setdefault(end, []).append(word_of(trigger))
    return tuple(f"{', '.join(triggers)}: {end}" for end, triggers in ways.items())


def _drawn(name: str, title: str, size: Point, nodes: list[Node], edges: Edges, places: dict[Ends, Place]) -> str:
    if set(edges) != set(places):
        raise RuntimeError(
            f"the picture of {name} does not fit the lifecycle: without a place {sorted(set(edges) - set(places))}, "
            f"without an edge {sorted(set(places) - set(edges))}; see documentation/lifecycle.py"
        )
    arrows = [
        Arrow(place.points, _said(edges[ends]), _told(edges[ends]), place.at, place.upright)
        for ends, place in places.items()
    ]
    told = "; ".join(f"{begin or 'nothing'} to {end} by {_said(by)}" for (begin, end), by in edges.items())
    return picture(name, title, told, size, nodes, arrows)


def _said(triggers: dict[Trigger, tuple[str, ...]]) -> str:
    return " · ".join(word_of(trigger) for trigger in sorted(triggers, key=list(Trigger).index))


def _told(triggers: dict[Trigger, tuple[str, ...]]) -> tuple[str, ...]:
    """The events, where they do not depend on the trigger; an end tells the event of its own name."""
    events = set(triggers.values())
    return events.pop() if len(events) == 1 else ()


def word_of(trigger: Trigger) -> str:
    return trigger.replace("_", " ")


def table() -> str:
    """Every row of the lifecycle, as Markdown."""
    rows = ["| stage | trigger | next stage | the shop is told |", "|---|---|---|---|"]
    for (stage, trigger), step in TRANSITIONS.items():
        told = ", ".join(f"`{emission.event}`" for emission in step.emits)
        rows.append(f"| {f'`{stage}`' if stage else ''} | {word_of(trigger)} | `{step.stage}` | {told} |")
    return "\n".join(rows) + "\n"
