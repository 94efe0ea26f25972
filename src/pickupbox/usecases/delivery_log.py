"""Look at what an endpoint was told and what it answered; and at one event, with all that was tried."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pickupbox.database import delivery_log, endpoints
from pickupbox.database.attempts import Attempt
from pickupbox.database.delivery_log import Backlog, Event, Place, Waiting
from pickupbox.database.endpoints import Endpoint
from pickupbox.usecases.core import Core
from pickupbox.usecases.logs import LOOK, ROWS, LogPage, cursor_of, read_cursor
from pickupbox.webhooks.bodies import body_of

ATTEMPTS_SHOWN = 100
BACKLOG_COUNTED = 1000
LAST = "~"  # sorts after every identifier


@dataclass(frozen=True, slots=True)
class Health:
    """An endpoint, and how it does."""

    endpoint: Endpoint
    backlog: Backlog
    latest: Attempt | None

    @property
    def next_try(self) -> datetime | None:
        if self.backlog.due_at is None or not self.endpoint.enabled:
            return None
        return max(self.backlog.due_at, self.endpoint.resume_at or self.backlog.due_at)


@dataclass(frozen=True, slots=True)
class Telling:
    """One event to one endpoint: what was tried, newest first, and what still waits."""

    endpoint_id: str
    endpoint: Endpoint | None  # None: it was removed
    attempts: Sequence[Attempt]
    waiting: Waiting | None

    @property
    def next_try(self) -> datetime | None:
        if self.waiting is None or not self.waiting.enabled:
            return None
        return max(self.waiting.due_at, self.waiting.resume_at or self.waiting.due_at)


@dataclass(frozen=True, slots=True)
class Delivery:
    event: Event
    body: bytes  # as it is sent, the same at every attempt
    tellings: Sequence[Telling]


async def list_endpoints(core: Core, tenant: str) -> list[Health]:
    async with core.db.connection() as connection:
        found = await endpoints.list_all(connection, tenant)
        ids = [endpoint.id for endpoint in found]
        backlogs = await delivery_log.backlogs(connection, tenant, ids, BACKLOG_COUNTED + 1)
        latest = await delivery_log.latest(connection, tenant, ids)
    return [Health(endpoint, backlogs[endpoint.id], latest.get(endpoint.id)) for endpoint in found]


async def find_endpoint(core: Core, tenant: str, endpoint_id: str) -> Health | None:
    async with core.db.connection() as connection:
        endpoint = await endpoints.find(connection, tenant, endpoint_id)
        if endpoint is None:
            return None
        backlogs = await delivery_log.backlogs(connection, tenant, [endpoint_id], BACKLOG_COUNTED + 1)
        latest = await delivery_log.latest(connection, tenant, [endpoint_id])
    return Health(endpoint, backlogs[endpoint_id], latest.get(endpoint_id))


async def list_attempts(
    core: Core,
    tenant: str,
    endpoint_id: str,
    cursor: str = "",
    *,
    outcomes: Sequence[str] | None = None,
    event_type: str | None = None,
) -> LogPage[Attempt]:
    """A page of attempts, newest first, of such outcomes and of that type."""
    at, event_id = read_cursor(cursor, datetime.now(UTC) + timedelta(minutes=1))
    before = Place(at, event_id or LAST)
    async with core.db.connection() as connection:
        rows = await delivery_log.list_before(
            connection,
            tenant,
            endpoint_id,
            before,
            ROWS + 1,
            look=LOOK,
            outcomes=outcomes,
            event_type=event_type,
        )
        if len(rows) > ROWS:
            last = rows[ROWS - 1]
            return LogPage(rows[:ROWS], cursor_of(last.at, last.event_id))
        end = await delivery_log.place_after(connection, endpoint_id, before, LOOK)
    return LogPage(rows, cursor_of(end, LAST), end) if end else LogPage(rows, None)


async def find_delivery(core: Core, tenant: str, event_id: str) -> Delivery | None:
    """One event, to every endpoint that it was or is to be told; None if the tenant has no such event."""
    async with core.db.connection() as connection:
        event = await delivery_log.find_event(connection, tenant, event_id)
        if event is None:
            return None
        tried = await delivery_log.list_of_event(connection, tenant, event.shipment_id, event.id, ATTEMPTS_SHOWN)
        waiting = await delivery_log.list_waiting(connection, tenant, event.shipment_id, event.sequence)
        live = {endpoint.id: endpoint for endpoint in await endpoints.list_all(connection, tenant)}
    # In the order of the endpoints' list, those that were removed last.
    concerned = {*(event.endpoints or ()), *(one for one, _ in tried), *(one.endpoint_id for one in waiting)}
    ordered = [one for one in live if one in concerned] + sorted(concerned - set(live))
    tellings = [
        Telling(
            one,
            live.get(one),
            [attempt for endpoint_id, attempt in tried if endpoint_id == one],
            next((lane for lane in waiting if lane.endpoint_id == one), None),
        )
        for one in ordered
    ]
    body = body_of(event.id, event.type, event.occurred_at, event.data)
    return Delivery(event, body, tellings)
