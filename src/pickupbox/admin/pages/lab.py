"""The sandbox lab: simulated events as buttons. In production there is no such page."""

from datetime import UTC, datetime

from starlette.responses import Response

from pickupbox.admin.pages.shipment import fits
from pickupbox.admin.routes import get, post
from pickupbox.admin.visit import Visit
from pickupbox.admin.words import _
from pickupbox.domain.errors import NotFound
from pickupbox.domain.lifecycle import Stage, is_released
from pickupbox.domain.roles import Act
from pickupbox.usecases.lab import list_boxes, make_shipment
from pickupbox.usecases.shipment_lists import list_shipments
from pickupbox.usecases.simulate import SandboxEvent, simulate
from pickupbox.usecases.timeline import read_story

SHOWN = 20
LIVE = {stage for stage in Stage if not is_released(stage)}


async def show_lab(visit: Visit) -> Response:
    live = await list_shipments(visit.core, visit.tenant, LIVE, None, None, SHOWN)
    search = visit.query("q")[:100]
    boxes, more = await list_boxes(visit.core, visit.tenant, search)
    return visit.page(
        "lab/page.html",
        live=live.shipments,
        boxes=boxes,
        more=more,
        search=search,
        order=f"lab-{datetime.now(UTC):%Y%m%d-%H%M%S}",
    )


async def make(visit: Visit) -> Response:
    form = await visit.form()
    order = form.get("order", "")[:160] or f"lab-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    shipment = await make_shipment(visit.core, visit.caller, form.get("box", ""), order)
    return visit.go(f"/lab/{shipment.id}")


async def show_shipment(visit: Visit) -> Response:
    story = await read_story(visit.core, visit.tenant, visit.path("shipment_id"))
    return visit.page(
        "lab/shipment.html", story=story, shipment=story.shipment, fits=fits(story), events=list(SandboxEvent)
    )


async def play(visit: Visit) -> Response:
    event = (await visit.form()).get("event", "")
    if event not in set(SandboxEvent):
        raise NotFound
    shipment_id = visit.path("shipment_id")
    await simulate(visit.core, visit.tenant, shipment_id, SandboxEvent(event), person=visit.caller)
    return visit.go(f"/lab/{shipment_id}", _("Done. Below is what followed from it."))


PAGES = [
    get("/lab", Act.SIMULATE, show_lab),
    post("/lab/shipments", Act.SIMULATE, make),
    get("/lab/{shipment_id}", Act.SIMULATE, show_shipment),
    post("/lab/{shipment_id}/events", Act.SIMULATE, play),
]
