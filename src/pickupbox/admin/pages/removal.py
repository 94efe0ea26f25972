"""Removal, for whoever stands before the box with a phone: what awaits, open, empty, confirm, next.

What a page shows is derived from the database alone, so a phone that died in between goes on where the door is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from starlette.responses import Response

from pickupbox.admin import live
from pickupbox.admin.live import Thing, Topic
from pickupbox.admin.routes import get, post
from pickupbox.admin.templates import render
from pickupbox.admin.visit import Visit
from pickupbox.admin.words import _
from pickupbox.database import removal_pages
from pickupbox.database.removal_pages import PAGE, Awaiting, Cursor, View
from pickupbox.domain.errors import ShipmentNotFound
from pickupbox.domain.lifecycle import FACES, CompartmentState, Stage
from pickupbox.domain.removal import Screen, screen_of
from pickupbox.domain.roles import Act
from pickupbox.usecases.core import Core
from pickupbox.usecases.removal import confirm_empty, leave_contents, open_for_removal


@dataclass(frozen=True, slots=True)
class Progress:
    screen: Screen
    view: View


def progress_of(view: View) -> Progress:
    held = FACES[Stage(view.stage)].compartment_state is CompartmentState.AWAITING_REMOVAL
    screen = screen_of(
        held=held,
        removed="removed" in view.told,
        device=view.device_id is not None,
        is_open=view.is_open,
        commanded=view.command_id is not None,
        expired=view.expired,
        outcome=view.outcome,
        cycle=view.cycle,
    )
    return Progress(screen, view)


async def read_progress(visit: Visit) -> Progress:
    wanted = visit.tenant, visit.path("shipment_id")
    async with visit.core.db.connection() as connection:
        views = await removal_pages.read_views(connection, [wanted])
    if wanted not in views:
        raise ShipmentNotFound
    return progress_of(views[wanted])


async def list_removals(visit: Visit) -> Response:
    try:
        after = Cursor(datetime.fromisoformat(visit.query("since")), visit.query("after"))
    except ValueError:
        after = None
    async with visit.core.db.connection() as connection:
        found = await removal_pages.list_awaiting(connection, visit.tenant, after)
    more = ""
    if len(found) > PAGE:
        found = found[:PAGE]
        more = f"/removals?{urlencode({'since': found[-1].since.isoformat(), 'after': found[-1].shipment_id})}"
    by_box: dict[str, list[Awaiting]] = {}
    for one in found:
        by_box.setdefault(one.box_id, []).append(one)
    return visit.page("removal/list.html", groups=list(by_box.values()), more=more)


async def show(visit: Visit) -> Response:
    return visit.page("removal/show.html", progress=await read_progress(visit))


async def open_door(visit: Visit) -> Response:
    shipment_id = visit.path("shipment_id")
    await open_for_removal(visit.core, visit.caller, shipment_id)
    return visit.go(f"/removals/{shipment_id}")


async def ask_empty(visit: Visit) -> Response:
    """For who cannot hold a button: the same question on a page of its own."""
    progress = await read_progress(visit)
    if progress.screen is not Screen.CONFIRM:
        return visit.go(f"/removals/{progress.view.shipment_id}")
    return visit.page("removal/empty.html", progress=progress)


async def say_empty(visit: Visit) -> Response:
    shipment_id = visit.path("shipment_id")
    await confirm_empty(visit.core, visit.caller, shipment_id)
    return visit.go(f"/removals/{shipment_id}")


async def say_contents(visit: Visit) -> Response:
    shipment_id = visit.path("shipment_id")
    await leave_contents(visit.core, visit.caller, shipment_id)
    return visit.go(f"/removals/{shipment_id}", _("Noted. The compartment stays held until it is empty."))


async def _watch(core: Core, watched: Sequence[Thing]) -> Mapping[Thing, Progress]:
    async with core.db.connection() as connection:
        views = await removal_pages.read_views(connection, watched)
    return {thing: progress_of(view) for thing, view in views.items()}


live.TOPICS["removal"] = Topic(
    Act.REMOVE, _watch, lambda progress: {"removal": render("removal/step.html", None, progress=progress)}
)

PAGES = [
    get("/removals", Act.REMOVE, list_removals),
    get("/removals/{shipment_id}", Act.REMOVE, show),
    post("/removals/{shipment_id}/open", Act.REMOVE, open_door),
    get("/removals/{shipment_id}/empty", Act.REMOVE, ask_empty),
    post("/removals/{shipment_id}/empty", Act.REMOVE, say_empty),
    post("/removals/{shipment_id}/contents", Act.REMOVE, say_contents),
]
