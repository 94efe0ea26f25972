"""Deliveries: what an endpoint was told and answered, one event in detail, and sending it again."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from pickupbox.admin import live
from pickupbox.admin.live import Thing, Topic
from pickupbox.admin.routes import get, post
from pickupbox.admin.templates import render
from pickupbox.admin.visit import Visit
from pickupbox.admin.words import _
from pickupbox.admin.zones import read_moment, zone_of
from pickupbox.database import replay_jobs
from pickupbox.domain.errors import NotFound
from pickupbox.domain.lifecycle import Event
from pickupbox.domain.roles import Act
from pickupbox.usecases.core import Core
from pickupbox.usecases.delivery_log import find_delivery, find_endpoint, list_attempts
from pickupbox.usecases.replay import replay_event
from pickupbox.usecases.replay_jobs import begin_replay, newest_replay, stop_replay

OUTCOMES = {"accepted": ["accepted"], "failed": ["failed", "given_up"], "given_up": ["given_up"]}
REPLAYED_DAYS = 30  # as far back as it is promised


async def list_of_endpoint(visit: Visit) -> Response:
    endpoint_id = visit.path("endpoint_id")
    found = await find_endpoint(visit.core, visit.tenant, endpoint_id)
    if found is None:
        raise NotFound
    outcome, event = visit.query("outcome"), visit.query("event")
    outcome = outcome if outcome in OUTCOMES else ""
    event = event if event in list(Event) else ""
    page = await list_attempts(
        visit.core,
        visit.tenant,
        endpoint_id,
        visit.query("after"),
        outcomes=OUTCOMES.get(outcome),
        event_type=event or None,
    )
    more = ""
    if page.next is not None:
        kept = {"outcome": outcome, "event": event, "after": page.next}
        more = f"/endpoints/{endpoint_id}/deliveries?{urlencode(kept)}"
    return visit.page(
        "deliveries/list.html",
        endpoint=found.endpoint,
        page=page,
        more=more,
        outcome=outcome,
        event=event,
        event_options=[("", _("Any")), *((one, one) for one in Event)],
    )


async def show(visit: Visit) -> Response:
    found = await find_delivery(visit.core, visit.tenant, visit.path("event_id"))
    if found is None:
        raise NotFound
    payload = json.dumps(json.loads(found.body), indent=2, ensure_ascii=False)
    return visit.page("deliveries/show.html", delivery=found, event=found.event, payload=payload)


async def replay_one(visit: Visit) -> Response:
    event_id, endpoint_id = visit.path("event_id"), (await visit.form()).get("endpoint", "")
    if not await replay_event(visit.core, visit.caller, endpoint_id, event_id):
        raise NotFound
    return visit.go(f"/deliveries/{event_id}", _("On its way again. Load the page in a moment to see the answer."))


async def replay_since(visit: Visit) -> Response:
    endpoint_id, form = visit.path("endpoint_id"), await visit.form()
    since = read_moment(form.get("since", ""), zone_of(form.get("zone", "")))
    now = datetime.now(UTC)
    if since is None or since > now or since < now - timedelta(days=REPLAYED_DAYS):
        return visit.go(f"/endpoints/{endpoint_id}?problem=since#replay")
    if await begin_replay(visit.core, visit.caller, endpoint_id, since) is None:
        return visit.go(f"/endpoints/{endpoint_id}?problem=under_way#replay")
    return visit.go(f"/endpoints/{endpoint_id}#replay")


async def stop(visit: Visit) -> Response:
    endpoint_id, job_id = visit.path("endpoint_id"), (await visit.form()).get("replay", "")
    newest = await newest_replay(visit.core, visit.tenant, endpoint_id)
    if newest is None or newest.id != job_id:
        raise NotFound
    stopped = await stop_replay(visit.core, visit.caller, job_id)
    said = _("Stopped. What was put back already still goes out.") if stopped else _("The replay was over already.")
    return visit.go(f"/endpoints/{endpoint_id}#replay", said)


async def _watch_replays(core: Core, watched: Sequence[Thing]) -> Mapping[Thing, Any]:
    async with core.db.connection() as connection:
        found = await replay_jobs.find_many(connection, watched)
    return {(job.tenant_id, job.id): job for job in found}


live.TOPICS["replay"] = Topic(
    Act.SEE_INTEGRATIONS,
    _watch_replays,
    lambda job: {"replay": render("deliveries/replay.html", None, replay=job)},
)

PAGES = [
    get("/endpoints/{endpoint_id}/deliveries", Act.SEE_INTEGRATIONS, list_of_endpoint),
    post("/endpoints/{endpoint_id}/replay", Act.REPLAY, replay_since),
    post("/endpoints/{endpoint_id}/replay/stop", Act.REPLAY, stop),
    get("/deliveries/{event_id}", Act.SEE_INTEGRATIONS, show),
    post("/deliveries/{event_id}/replay", Act.REPLAY, replay_one),
]
