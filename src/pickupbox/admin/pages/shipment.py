"""One shipment: how it stands, its attempts and its timeline, live; cancel, retry, and the PIN for a reason."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response

from pickupbox.admin.live import TOPICS, Thing, Topic
from pickupbox.admin.routes import get, post
from pickupbox.admin.templates import render
from pickupbox.admin.visit import Visit
from pickupbox.admin.words import _
from pickupbox.domain.errors import NotFound
from pickupbox.domain.lifecycle import TRANSITIONS, CompartmentState, Status, Trigger, is_released
from pickupbox.domain.pins import can_be_revealed
from pickupbox.domain.roles import Act
from pickupbox.domain.shipment import Shipment
from pickupbox.usecases.cancel import cancel
from pickupbox.usecases.core import Core
from pickupbox.usecases.read import read
from pickupbox.usecases.retry import retry_by_hand
from pickupbox.usecases.reveal_pin import reveal_pin
from pickupbox.usecases.simulate import fitting
from pickupbox.usecases.timeline import Story, read_marks, read_stories, read_story

REASON_LENGTH = 200
SECONDS_SHOWN = 60
MOST_KNOWN = 1000


def fits(story: Story) -> list[str]:
    """What can be done with the shipment now; who may is another question. Names as the buttons have them."""
    shipment = story.shipment
    newest = story.attempts[-1].id if story.attempts else shipment.id
    able = {
        "cancel": (shipment.stage, Trigger.CANCEL) in TRANSITIONS,
        "fault": (shipment.stage, Trigger.FAULT) in TRANSITIONS,
        "pin": can_be_revealed(shipment.stage),
        "remove": shipment.compartment_state is CompartmentState.AWAITING_REMOVAL,
        "retry": shipment.status is Status.FAULT and is_released(shipment.stage) and newest == shipment.id,
    }
    return [*(act for act, can in able.items() if can), *(f"event-{event}" for event in fitting(shipment.stage))]


async def show(visit: Visit) -> Response:
    story = await read_story(visit.core, visit.tenant, visit.path("shipment_id"), _until(visit.query("until")))
    if visit.query("until"):
        return visit.part("shipment/timeline.html", story=story, inner=True)
    return visit.page("shipment/page.html", story=story, shipment=story.shipment, fits=fits(story))


def _until(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone(UTC) if text else None
    except ValueError:
        raise NotFound from None


async def ask_cancel(visit: Visit) -> Response:
    shipment = await read(visit.core, visit.tenant, visit.path("shipment_id"))
    return visit.page("shipment/cancel.html", shipment=shipment, error="")


async def do_cancel(visit: Visit) -> Response:
    shipment = await read(visit.core, visit.tenant, visit.path("shipment_id"))
    typed = (await visit.form()).get("typed", "")
    if typed.upper() != shipment.compartment_code.upper():
        error = _("That is not the door's code.")
        return visit.page("shipment/cancel.html", 422, shipment=shipment, error=error)
    cancelled = await cancel(visit.core, visit.tenant, shipment.id, person=visit.caller)
    held = cancelled.compartment_state is CompartmentState.AWAITING_REMOVAL
    notice = _("Cancelled. What lies inside awaits removal.") if held else _("Cancelled. The door is free again.")
    return visit.go(f"/shipments/{shipment.id}", notice)


async def do_retry(visit: Visit) -> Response:
    made = await retry_by_hand(visit.core, visit.caller, visit.path("shipment_id"))
    return visit.go(f"/shipments/{made.shipment.id}", _("A new attempt is reserved."))


async def ask_pin(visit: Visit) -> Response:
    shipment = await read(visit.core, visit.tenant, visit.path("shipment_id"))
    return _pin_page(visit, shipment)


async def do_reveal(visit: Visit) -> Response:
    shipment = await read(visit.core, visit.tenant, visit.path("shipment_id"))
    reason = " ".join((await visit.form()).get("reason", "").split())[:REASON_LENGTH]
    if len(reason) < 3:
        return _pin_page(visit, shipment, status=422, error=_("Say in a few words why the PIN is needed."))
    pin = await reveal_pin(visit.core, visit.caller, shipment.id, reason=reason)
    return _pin_page(visit, shipment, pin=pin)


def _pin_page(visit: Visit, shipment: Shipment, *, status: int = 200, error: str = "", pin: str = "") -> Response:
    return visit.page(
        "shipment/pin.html",
        status,
        shipment=shipment,
        available=can_be_revealed(shipment.stage),
        error=error,
        pin=pin,
        seconds=SECONDS_SHOWN,
    )


class _Watched:
    """Stories are dear, and asked for at every ring: one is read again only when its mark has changed."""

    def __init__(self) -> None:
        self._known: dict[Thing, tuple[str, Story]] = {}

    async def fetch(self, core: Core, things: Sequence[Thing]) -> Mapping[Thing, Any]:
        marks = await read_marks(core, things)
        if len(self._known) > MOST_KNOWN:
            self._known = {thing: known for thing, known in self._known.items() if thing in things}
        changed = [thing for thing in marks if thing not in self._known or self._known[thing][0] != marks[thing]]
        for thing, story in (await read_stories(core, changed)).items():
            self._known[thing] = (marks[thing], story)
        return {thing: self._known[thing][1] for thing in marks if thing in self._known}


def _render(story: Story) -> Mapping[str, str]:
    values = {"story": story, "shipment": story.shipment, "fits": fits(story)}
    return {
        "status": render("shipment/status.html", None, **values),
        "facts": render("shipment/facts.html", None, **values),
        "timeline": render("shipment/timeline.html", None, inner=False, **values),
    }


TOPICS["shipment"] = Topic(Act.SEE_SHIPMENTS, _Watched().fetch, _render)

PAGES = [
    get("/shipments/{shipment_id}", Act.SEE_SHIPMENTS, show),
    get("/shipments/{shipment_id}/cancel", Act.CANCEL, ask_cancel),
    post("/shipments/{shipment_id}/cancel", Act.CANCEL, do_cancel),
    post("/shipments/{shipment_id}/retry", Act.RETRY, do_retry),
    get("/shipments/{shipment_id}/pin", Act.REVEAL_PIN, ask_pin, step_up=True),
    post("/shipments/{shipment_id}/pin", Act.REVEAL_PIN, do_reveal, step_up=True),
]
