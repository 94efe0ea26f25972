"""Emergency release: without the door's word, by the word of two people who each stand before it."""

from datetime import timedelta

from starlette.responses import Response

from pickupbox.admin.pages.removal import Progress, read_progress
from pickupbox.admin.routes import get, post
from pickupbox.admin.visit import Visit
from pickupbox.admin.words import _
from pickupbox.database import users
from pickupbox.database.removals import EMERGENCY_MINUTES
from pickupbox.domain.errors import DoorCodeWrong
from pickupbox.domain.removal import Screen
from pickupbox.domain.roles import Act
from pickupbox.usecases.removal import release_in_emergency

REASON = (10, 300)  # characters


async def ask(visit: Visit) -> Response:
    progress = await read_progress(visit)
    if progress.screen in (Screen.DONE, Screen.NOT_HELD):
        return visit.go(f"/removals/{progress.view.shipment_id}")
    return await _page(visit, progress, {}, {})


async def vouch(visit: Visit) -> Response:
    progress, form = await read_progress(visit), await visit.form()
    second = _is_second(visit, progress)
    reason = progress.view.emergency_reason if second else form.get("reason", "")
    errors: dict[str, str] = {}
    if form.get("looked") != "yes":
        errors["looked"] = _("Only who has looked inside may say so.")
    if not second and not REASON[0] <= len(reason or "") <= REASON[1]:
        errors["reason"] = _("Say in %(low)s to %(high)s characters why the door itself cannot show it.") % {
            "low": REASON[0],
            "high": REASON[1],
        }
    if errors:
        return await _page(visit, progress, form, errors)
    shipment_id = progress.view.shipment_id
    try:
        released = await release_in_emergency(
            visit.core, visit.caller, shipment_id, reason or "", typed_code=form.get("code", "")
        )
    except DoorCodeWrong:
        errors["code"] = _("That is not the code on this door. Read it off the door before you.")
        return await _page(visit, progress, form, errors)
    if released is None:
        return visit.go(f"/removals/{shipment_id}/emergency", _("Your word is noted. Now a second person must look."))
    return visit.go(f"/removals/{shipment_id}", _("Released by the word of two people."))


async def _page(visit: Visit, progress: Progress, values: dict[str, str], errors: dict[str, str]) -> Response:
    view = progress.view
    first = {}
    if view.emergency_by is not None and view.emergency_at is not None:
        async with visit.core.db.connection() as connection:
            names = await users.names(connection, visit.tenant, [view.emergency_by])
        first = {
            "name": names.get(view.emergency_by, view.emergency_by),
            "reason": view.emergency_reason,
            "at": view.emergency_at,
            "until": view.emergency_at + timedelta(minutes=EMERGENCY_MINUTES),
        }
    return visit.page(
        "removal/emergency.html",
        422 if errors else 200,
        progress=progress,
        first=first,
        mine=view.emergency_by == visit.person.id,
        values=values,
        errors=errors,
        minutes=EMERGENCY_MINUTES,
        address=f"{visit.settings.admin_url}/removals/{view.shipment_id}/emergency",
    )


def _is_second(visit: Visit, progress: Progress) -> bool:
    return progress.view.emergency_by is not None and progress.view.emergency_by != visit.person.id


PAGES = [
    get("/removals/{shipment_id}/emergency", Act.RELEASE_IN_EMERGENCY, ask, step_up=True),
    post("/removals/{shipment_id}/emergency", Act.RELEASE_IN_EMERGENCY, vouch, step_up=True),
]
