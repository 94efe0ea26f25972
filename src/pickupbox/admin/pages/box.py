"""One box: its cabinet as it stands now, its settings, its doors, its sticker and its device."""

from collections.abc import Mapping, Sequence
from typing import Any

import segno
from markupsafe import Markup
from starlette.responses import Response

from pickupbox.admin import live
from pickupbox.admin.faces import face_of
from pickupbox.admin.live import Thing, Topic
from pickupbox.admin.pages.box_form import filled, read_setup
from pickupbox.admin.routes import get, post
from pickupbox.admin.templates import render
from pickupbox.admin.visit import Visit
from pickupbox.admin.words import _
from pickupbox.database import box_pages, boxes, door_reports
from pickupbox.database.box_pages import Door
from pickupbox.domain.box_setup import RANGES
from pickupbox.domain.cabinet import columns
from pickupbox.domain.errors import BoxNotFound
from pickupbox.domain.roles import Act
from pickupbox.usecases.boxes import change_setup, offer_box, put_in_service
from pickupbox.usecases.core import Core
from pickupbox.usecases.devices import enroll, revoke


async def show(visit: Visit) -> Response:
    place = visit.tenant, visit.path("box_id")
    async with visit.core.db.connection() as connection:
        box = await boxes.read(connection, *place)
        if box is None:
            raise BoxNotFound
        doors = await box_pages.read_doors(connection, [place])
        pulse = await box_pages.read_pulses(connection, [place])
        feed = await door_reports.list_newest(connection, [place])
    return visit.page(
        "box/show.html",
        box=box,
        cabinet=cabinet_of(box.id, doors.get(place, ())),
        pulse=pulse[place],
        feed=feed[place],
    )


def cabinet_of(box_id: str, doors: Sequence[Door]) -> dict[str, Any]:
    """What the cabinet's template draws: faces of doors, column by column, and those that need a hand."""
    faces = {door.code: face_of(door) for door in doors}
    return {
        "box_id": box_id,
        "columns": [[faces[code] if code is not None else None for code in column] for column in columns(list(faces))],
        "needy": [face for face in faces.values() if face.fill in ("awaiting", "out")],
    }


async def settings(visit: Visit) -> Response:
    box = await _read(visit)
    return visit.page("box/settings.html", box=box, values=filled(box.setup), errors={}, ranges=RANGES)


async def change_settings(visit: Visit) -> Response:
    box, form = await _read(visit), await visit.form()
    setup, errors = read_setup(form)
    if setup is None:
        values = filled(box.setup) | form
        return visit.page("box/settings.html", 422, box=box, values=values, errors=errors, ranges=RANGES)
    changed = await change_setup(visit.core, visit.caller, box.id, setup)
    said = _("Saved. It counts for shipments from now on.") if changed else _("Nothing was changed.")
    return visit.go(f"/boxes/{box.id}/settings", said)


async def offer(visit: Visit) -> Response:
    box_id, active = visit.path("box_id"), (await visit.form()).get("active") == "yes"
    await offer_box(visit.core, visit.caller, box_id, active=active)
    said = _("Shops can reserve in this box again.") if active else _("Shops can no longer reserve in this box.")
    return visit.go(f"/boxes/{box_id}/settings", said)


async def doors(visit: Visit) -> Response:
    box = await _read(visit)
    async with visit.core.db.connection() as connection:
        found = await box_pages.read_doors(connection, [(visit.tenant, box.id)])
    return visit.page(
        "box/doors.html", box=box, faces=[face_of(door) for door in found.get((visit.tenant, box.id), ())]
    )


async def serve_door(visit: Visit) -> Response:
    box_id, form = visit.path("box_id"), await visit.form()
    code, in_service = form.get("code", ""), form.get("in_service") == "yes"
    if not await put_in_service(visit.core, visit.caller, box_id, code, in_service=in_service):
        raise BoxNotFound
    said = _("%(code)s is offered again.") if in_service else _("%(code)s is out of service.")
    return visit.go(f"/boxes/{box_id}/doors#door-{code}", said % {"code": code})


async def sticker(visit: Visit) -> Response:
    box = await _read(visit)
    address = f"{visit.settings.admin_url}/boxes/{box.id}"
    drawn = segno.make(address, error="q", micro=False).svg_inline(scale=8, border=2, omitsize=True)
    return visit.page("box/sticker.html", box=box, address=address, qr=Markup(drawn))  # noqa: S704 - drawn by segno


async def device(visit: Visit) -> Response:
    return await _device(visit, None)


async def enroll_device(visit: Visit) -> Response:
    box = await _read(visit)
    enrollment = await enroll(visit.core, visit.caller, box.id)
    if enrollment is None:
        return visit.go(f"/boxes/{box.id}/device", _("A device speaks for this box already. Revoke it first."))
    return await _device(visit, enrollment)


async def revoke_device(visit: Visit) -> Response:
    box, form = await _read(visit), await visit.form()
    if form.get("typed") != box.setup.name:
        return visit.go(f"/boxes/{box.id}/device", _("Nothing was revoked: the name that was typed is another."))
    if not await revoke(visit.core, visit.caller, form.get("device", "")):
        raise BoxNotFound
    visit.core.db.ring()
    return visit.go(f"/boxes/{box.id}/device", _("The device is revoked. Enroll another one."))


async def _device(visit: Visit, enrollment: Any) -> Response:
    box = await _read(visit)
    async with visit.core.db.connection() as connection:
        pulses = await box_pages.read_pulses(connection, [(visit.tenant, box.id)])
    return visit.page(
        "box/device.html",
        box=box,
        pulse=pulses[visit.tenant, box.id],
        enrollment=enrollment,
        can_sign=visit.core.authority is not None,
    )


async def _read(visit: Visit) -> boxes.BoxRead:
    async with visit.core.db.connection() as connection:
        box = await boxes.read(connection, visit.tenant, visit.path("box_id"))
    if box is None:
        raise BoxNotFound
    return box


async def _watch_doors(core: Core, watched: Sequence[Thing]) -> Mapping[Thing, Any]:
    async with core.db.connection() as connection:
        found = await box_pages.read_doors(connection, watched)
    return {place: (place[1], doors) for place, doors in found.items()}


async def _watch_pulses(core: Core, watched: Sequence[Thing]) -> Mapping[Thing, Any]:
    async with core.db.connection() as connection:
        return await box_pages.read_pulses(connection, watched)


async def _watch_feed(core: Core, watched: Sequence[Thing]) -> Mapping[Thing, Any]:
    async with core.db.connection() as connection:
        return await door_reports.list_newest(connection, watched)


def _render_doors(found: tuple[str, Sequence[Door]]) -> Mapping[str, str]:
    cabinet = cabinet_of(*found)
    return {part: render(f"box/{part}.html", None, cabinet=cabinet) for part in ("cabinet", "needy")}


live.TOPICS["box"] = Topic(Act.SEE_BOXES, _watch_doors, _render_doors)
live.TOPICS["pulse"] = Topic(
    Act.SEE_BOXES, _watch_pulses, lambda pulse: {"pulse": render("box/pulse.html", None, pulse=pulse)}
)
live.TOPICS["feed"] = Topic(Act.SEE_BOXES, _watch_feed, lambda feed: {"feed": render("box/feed.html", None, feed=feed)})

PAGES = [
    get("/boxes/{box_id}", Act.SEE_BOXES, show),
    get("/boxes/{box_id}/settings", Act.SET_UP_BOXES, settings),
    post("/boxes/{box_id}/settings", Act.SET_UP_BOXES, change_settings),
    post("/boxes/{box_id}/offer", Act.SET_UP_BOXES, offer),
    get("/boxes/{box_id}/doors", Act.SEE_BOXES, doors),
    post("/boxes/{box_id}/doors", Act.SERVE_DOORS, serve_door),
    get("/boxes/{box_id}/sticker", Act.SEE_BOXES, sticker),
    get("/boxes/{box_id}/device", Act.SET_UP_BOXES, device),
    post("/boxes/{box_id}/device", Act.SET_UP_BOXES, enroll_device, step_up=True),
    post("/boxes/{box_id}/device/revoke", Act.SET_UP_BOXES, revoke_device, step_up=True),
]
