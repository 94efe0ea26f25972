"""The boxes of a tenant: the list, page by page, and a new one."""

from urllib.parse import urlencode

from starlette.responses import Response

from pickupbox.admin.pages.box_form import filled, read_compartments, read_setup
from pickupbox.admin.routes import get, post
from pickupbox.admin.visit import Visit
from pickupbox.admin.words import _
from pickupbox.database import box_pages
from pickupbox.database.box_pages import Cursor
from pickupbox.domain.box_setup import COMPARTMENTS, RANGES
from pickupbox.domain.roles import Act
from pickupbox.usecases.boxes import default_setup, set_up_box

FILTERS = ("all", "hand", "offline")


async def list_boxes(visit: Visit) -> Response:
    search, only = visit.query("q")[:100], visit.query("only", "all")
    only = only if only in FILTERS else "all"
    name, box_id = visit.query("name"), visit.query("after")
    async with visit.core.db.connection() as connection:
        after = Cursor(name, box_id) if box_id else None
        page = await box_pages.list_page(connection, visit.tenant, after, search=search, only=only)
    kept = {"q": search, "only": only}
    more = ""
    if page.next is not None:
        more = f"/boxes?{urlencode(kept | {'name': page.next.name, 'after': page.next.id})}"
    return visit.page("boxes/list.html", rows=page.rows, more=more, search=search, only=only, first=after is None)


async def new_box(visit: Visit) -> Response:
    values = filled(default_setup(visit.core, "")) | {"compartments": 12}
    return _form(visit, values, {})


async def add_box(visit: Visit) -> Response:
    form = await visit.form()
    setup, errors = read_setup(form)
    compartments, wrong = read_compartments(form)
    if setup is None or wrong:
        return _form(visit, form, errors | wrong)
    box_id = await set_up_box(visit.core, visit.caller, setup, compartments)
    return visit.go(f"/boxes/{box_id}/device", _("The box is there. Now give it a voice: enroll its device."))


def _form(visit: Visit, values: dict[str, str], errors: dict[str, str]) -> Response:
    shown = dict.fromkeys([*RANGES, "name", "location_name", "address", "compartments"], "") | values
    status = 422 if errors else 200
    return visit.page(
        "boxes/new.html", status, values=shown, errors=errors, ranges=RANGES | {"compartments": COMPARTMENTS}
    )


PAGES = [
    get("/boxes", Act.SEE_BOXES, list_boxes),
    get("/boxes/new", Act.SET_UP_BOXES, new_box),
    post("/boxes", Act.SET_UP_BOXES, add_box),
]
