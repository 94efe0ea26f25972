"""Webhook endpoints: where a shop is told what happens, how each does, and what can be done about it."""

from collections.abc import Sequence
from datetime import UTC

from starlette.responses import Response

from pickupbox.admin.routes import get, post
from pickupbox.admin.visit import Form, Visit
from pickupbox.admin.words import _
from pickupbox.admin.zones import read_moment
from pickupbox.database.endpoints import MOST
from pickupbox.domain.errors import NotFound
from pickupbox.domain.lifecycle import Event
from pickupbox.domain.roles import Act
from pickupbox.usecases.delivery_log import BACKLOG_COUNTED, Health, find_endpoint, list_endpoints
from pickupbox.usecases.endpoints import (
    EndpointRefusedError,
    add_endpoint,
    change_endpoint,
    disable_endpoint,
    enable_endpoint,
    remove_endpoint,
    rotate_secret,
    try_endpoint,
)
from pickupbox.usecases.replay_jobs import newest_replay
from pickupbox.webhooks.egress import Answer

DESCRIPTION_LENGTH = 160
ANSWER_SHOWN = 1024


async def list_all(visit: Visit) -> Response:
    found = await list_endpoints(visit.core, visit.tenant)
    return visit.page("endpoints/list.html", endpoints=found, most=MOST, counted=BACKLOG_COUNTED)


async def new(visit: Visit) -> Response:
    return visit.page("endpoints/new.html", form={}, wanted=None, error="", events=list(Event))


async def add(visit: Visit) -> Response:
    form = await visit.form()
    wanted = _wanted(form)
    try:
        made = await add_endpoint(visit.core, visit.caller, form.get("url", ""), _description(form), wanted)
    except EndpointRefusedError as refused:
        return visit.page(
            "endpoints/new.html", 422, form=form, wanted=wanted, error=_(str(refused)), events=list(Event)
        )
    return visit.page("endpoints/secret.html", endpoint_id=made.id, secret=made.secret, rotated=False)


async def show(visit: Visit) -> Response:
    return await _show(visit, await _find(visit))


async def change(visit: Visit) -> Response:
    form, endpoint_id = await visit.form(), visit.path("endpoint_id")
    if not await change_endpoint(visit.core, visit.caller, endpoint_id, _description(form), _wanted(form)):
        raise NotFound
    return visit.go(f"/endpoints/{endpoint_id}", _("Saved. It counts for events from now on."))


async def send_test(visit: Visit) -> Response:
    """Send an example and show what came back."""
    found, asked = await _find(visit), (await visit.form()).get("event", "")
    event = Event(asked) if asked in list(Event) else Event.LOADED
    answer = await try_endpoint(visit.core, visit.caller, found.endpoint.id, event)
    return await _show(visit, found, answer, event)


async def ask_rotation(visit: Visit) -> Response:
    return visit.page("endpoints/rotate.html", endpoint=(await _find(visit)).endpoint)


async def rotate(visit: Visit) -> Response:
    endpoint_id = visit.path("endpoint_id")
    secret = await rotate_secret(visit.core, visit.caller, endpoint_id)
    if secret is None:
        raise NotFound
    return visit.page("endpoints/secret.html", endpoint_id=endpoint_id, secret=secret, rotated=True)


async def disable(visit: Visit) -> Response:
    endpoint_id = visit.path("endpoint_id")
    if not await disable_endpoint(visit.core, visit.caller, endpoint_id, "by hand"):
        raise NotFound
    return visit.go(f"/endpoints/{endpoint_id}", _("Disabled. What waits for it is kept for 30 days."))


async def enable(visit: Visit) -> Response:
    endpoint_id = visit.path("endpoint_id")
    before = await enable_endpoint(visit.core, visit.caller, endpoint_id)
    if before is None:
        raise NotFound
    if before.disabled_at is None:
        return visit.go(f"/endpoints/{endpoint_id}", _("What waits goes out now."))
    said = _(
        "Enabled; what waited goes out now. What happened meanwhile can be replayed from the time it was disabled."
    )
    since = before.disabled_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ")
    return visit.go(f"/endpoints/{endpoint_id}?since={since}#replay", said)


async def ask_removal(visit: Visit) -> Response:
    return visit.page("endpoints/remove.html", endpoint=(await _find(visit)).endpoint, error="")


async def remove(visit: Visit) -> Response:
    endpoint = (await _find(visit)).endpoint
    if (await visit.form()).get("typed", "").casefold() != host_of(endpoint.url):
        error = _("That is not the name of its host. Nothing was removed.")
        return visit.page("endpoints/remove.html", 422, endpoint=endpoint, error=error)
    await remove_endpoint(visit.core, visit.caller, endpoint.id)
    return visit.go("/endpoints", _("The endpoint is removed, with all that waited for it."))


async def _find(visit: Visit) -> Health:
    found = await find_endpoint(visit.core, visit.tenant, visit.path("endpoint_id"))
    if found is None:
        raise NotFound
    return found


async def _show(visit: Visit, found: Health, answer: Answer | None = None, tested: Event | None = None) -> Response:
    said = answer.body[:ANSWER_SHOWN].decode(errors="replace") if answer and answer.body else ""
    return visit.page(
        "endpoints/show.html",
        health=found,
        endpoint=found.endpoint,
        counted=BACKLOG_COUNTED,
        events=list(Event),
        event_options=[(event, event) for event in Event],
        answer=answer,
        accepted=answer is not None and answer.status is not None and 200 <= answer.status < 300,
        said=said,
        tested=tested or Event.LOADED,
        replay=await newest_replay(visit.core, visit.tenant, found.endpoint.id),
        since=read_moment(visit.query("since"), UTC),
        problem=visit.query("problem"),
    )


def host_of(url: str) -> str:
    """What is typed to remove an endpoint: the part of its address that people know it by."""
    return url.partition("://")[2].partition("/")[0].casefold()


def _description(form: Form) -> str:
    return form.get("description", "")[:DESCRIPTION_LENGTH].replace("\0", "")


def _wanted(form: Form) -> Sequence[Event] | None:
    """The chosen types; none chosen, or all of them, is all."""
    if form.get("which") != "some":
        return None
    chosen = [event for event in Event if form.get(f"event_{event}") == "yes"]
    return chosen if 0 < len(chosen) < len(Event) else None


PAGES = [
    get("/endpoints", Act.SEE_INTEGRATIONS, list_all),
    get("/endpoints/new", Act.MANAGE_ENDPOINTS, new, step_up=True),
    post("/endpoints/new", Act.MANAGE_ENDPOINTS, add, step_up=True),
    get("/endpoints/{endpoint_id}", Act.SEE_INTEGRATIONS, show),
    post("/endpoints/{endpoint_id}", Act.MANAGE_ENDPOINTS, change),
    get("/endpoints/{endpoint_id}/test", Act.MANAGE_ENDPOINTS, show),
    post("/endpoints/{endpoint_id}/test", Act.MANAGE_ENDPOINTS, send_test),
    get("/endpoints/{endpoint_id}/rotate", Act.MANAGE_ENDPOINTS, ask_rotation, step_up=True),
    post("/endpoints/{endpoint_id}/rotate", Act.MANAGE_ENDPOINTS, rotate, step_up=True),
    post("/endpoints/{endpoint_id}/disable", Act.MANAGE_ENDPOINTS, disable),
    post("/endpoints/{endpoint_id}/enable", Act.MANAGE_ENDPOINTS, enable),
    get("/endpoints/{endpoint_id}/remove", Act.MANAGE_ENDPOINTS, ask_removal),
    post("/endpoints/{endpoint_id}/remove", Act.MANAGE_ENDPOINTS, remove),
]
