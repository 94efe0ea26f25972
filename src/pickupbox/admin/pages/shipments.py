"""Shipments: the list, newest first, by status, compartment state, box or order."""

from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.responses import Response

from pickupbox.admin.routes import get
from pickupbox.admin.visit import Visit
from pickupbox.database.shipment_lists import Page
from pickupbox.domain.errors import ShipmentNotFound
from pickupbox.domain.lifecycle import FACES, CompartmentState, Stage, Status
from pickupbox.domain.roles import Act
from pickupbox.usecases.read import read
from pickupbox.usecases.shipment_lists import list_order, list_shipments, name_of_box


@dataclass(frozen=True, slots=True)
class Filters:
    status: str
    state: str
    box: str

    @property
    def stages(self) -> set[Stage]:
        return {
            stage
            for stage, face in FACES.items()
            if self.status in ("", face.status) and self.state in ("", face.compartment_state)
        }

    def address(self, **changes: str) -> str:
        """The list with other filters."""
        chosen = {"status": self.status, "state": self.state, "box": self.box} | changes
        query = urlencode({name: value for name, value in chosen.items() if value})
        return f"/shipments?{query}" if query else "/shipments"


async def list_page(visit: Visit) -> Response:
    searched = visit.query("q")[:160]
    filters = Filters(
        _known(visit.query("status"), set(Status)),
        _known(visit.query("state"), set(CompartmentState)),
        visit.query("box")[:64],
    )
    if searched.startswith("shp_") and await _is_there(visit, searched):
        return visit.go(f"/shipments/{searched}")
    if searched:
        page = Page(await list_order(visit.core, visit.tenant, searched), None)
        return _show(visit, filters, page, searched=searched)
    box_name = await name_of_box(visit.core, visit.tenant, filters.box) if filters.box else None
    before = visit.query("before")[:64] or None
    page = await list_shipments(visit.core, visit.tenant, filters.stages, filters.box or None, before)
    return _show(visit, filters, page, box_name=box_name, first=before is None)


def _show(
    visit: Visit, filters: Filters, page: Page, *, searched: str = "", box_name: str | None = None, first: bool = True
) -> Response:
    return visit.page(
        "shipments/list.html",
        filters=filters,
        statuses=list(Status),
        states=list(CompartmentState),
        page=page,
        searched=searched,
        box_name=box_name,
        first=first,
        next_url=filters.address(before=page.after) if page.after else "",
        filtered=bool(searched or filters.status or filters.state or filters.box),
    )


def _known(value: str, known: set[str]) -> str:
    """A filter that nobody knows is none."""
    return value if value in known else ""


async def _is_there(visit: Visit, shipment_id: str) -> bool:
    try:
        await read(visit.core, visit.tenant, shipment_id)
    except ShipmentNotFound:
        return False
    return True


PAGES = [get("/shipments", Act.SEE_SHIPMENTS, list_page)]
