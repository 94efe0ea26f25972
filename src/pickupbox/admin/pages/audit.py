"""The audit trail: who did what, filtered; the verdict on its chain; and its rows to take away."""

import csv
import io
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response, StreamingResponse

from pickupbox.admin.pages.audit_words import GROUPS, catalogue, say
from pickupbox.admin.routes import get
from pickupbox.admin.visit import Visit
from pickupbox.admin.words import _
from pickupbox.admin.zones import read_day, zone_of
from pickupbox.database import tenants, users
from pickupbox.database.audit import Entry
from pickupbox.database.audit_log import Wanted
from pickupbox.domain.roles import Act
from pickupbox.usecases.audit_log import EXPORTED_AT_MOST, Filter, export, list_entries
from pickupbox.usecases.audit_verification import verify_piece
from pickupbox.usecases.core import Core

TEXT_LENGTH = 160
# Where an object has a page of its own.
PAGES_OF = {"shp": "/shipments/", "box": "/boxes/", "whe": "/endpoints/", "evt": "/deliveries/"}
FIELDS = ("actor", "action", "object", "from", "to")
COLUMNS = ("time_utc", "actor", "actor_name", "action", "object", "object_name", "request_id", "address", "id")


async def list_all(visit: Visit) -> Response:
    asked = _asked(visit)
    people = await _people(visit.core, visit.tenant)
    page = await list_entries(visit.core, visit.tenant, _filter(asked, people), visit.query("after"))
    chosen = {name: value for name, value in asked.items() if value}
    more = f"/audit?{urlencode(chosen | {'after': page.next})}" if page.next else ""
    known = catalogue()
    return visit.page(
        "audit/list.html",
        page=page,
        said={entry.id: say(entry.action, known) for entry in page.rows},
        called=await _called(visit.core, visit.tenant, page.rows),
        address_of=_address_of,
        more=more,
        asked=asked,
        chosen=chosen,
        groups=[("", _("Any")), *((group, group) for group in GROUPS)],
        people=people,
        export=f"/audit.csv?{urlencode(chosen)}" if chosen else "/audit.csv",
    )


def _asked(visit: Visit) -> dict[str, str]:
    """What was filled in. Days are those of a zone, so that a link shows the same to everybody."""
    asked = {name: visit.query(name)[:TEXT_LENGTH].replace("\0", "") for name in FIELDS}
    return asked | {"zone": str(zone_of(visit.query("zone"))) if asked["from"] or asked["to"] else ""}


async def export_rows(visit: Visit) -> Response:
    """The same entries as CSV, as a stream: it may be long."""
    asked = _asked(visit)
    people = await _people(visit.core, visit.tenant)
    batches = export(visit.core, visit.caller, _filter(asked, people))
    name = f"audit-{datetime.now(UTC):%Y-%m-%d}.csv"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(_csv(visit, batches), media_type="text/csv; charset=utf-8", headers=headers)


async def _csv(visit: Visit, batches: AsyncIterator[Sequence[Entry]]) -> AsyncIterator[str]:
    yield _lines([COLUMNS])
    count = 0
    async for entries in batches:
        called = await _called(visit.core, visit.tenant, entries)
        count += len(entries)
        yield _lines(
            (
                entry.at.astimezone(UTC).isoformat(),
                entry.actor,
                called.get(entry.actor, ""),
                entry.action,
                entry.object,
                called.get(entry.object, ""),
                entry.request_id or "",
                entry.address or "",
                entry.id,
            )
            for entry in entries
        )
    if count >= EXPORTED_AT_MOST:
        yield _lines([("cut off here: choose a shorter time", *[""] * (len(COLUMNS) - 1))])


def _lines(rows: Any) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([harmless(cell) for cell in row] for row in rows)
    return text.getvalue()


def harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else cell


async def verify(visit: Visit) -> Response:
    """One piece of the chain; the page asks for the next by itself until the end is reached."""
    after, first = _number(visit.query("after")), _number(visit.query("first"))
    found = await verify_piece(visit.core, visit.tenant, after)
    return visit.page("audit/verify.html", found=found, first=first or found.first or 0)


async def _people(core: Core, tenant: str) -> dict[str, str]:
    """Whom one can choose as an actor: from what is typed to the id in the trail."""
    async with core.db.connection() as connection:
        team = await users.list_all(connection, tenant)
        keys = await tenants.list_keys(connection, tenant)
    return {f"{key.name} {key.shown}": key.id for key in keys} | {person.email: person.id for person in team}


def _filter(asked: dict[str, str], people: dict[str, str]) -> Filter:
    actor = asked["actor"]
    actors = None
    if actor:
        typed = actor.casefold()
        actors = [actor, *(found for name, found in people.items() if typed in name.casefold())][:100]
    zone = zone_of(asked["zone"])
    since, until = read_day(asked["from"], zone), read_day(asked["to"], zone, end=True)
    wanted = Wanted(actors, asked["action"] or None, since, until)
    return Filter(wanted, asked["object"] or None)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) <= 18 else 0


def _address_of(thing: str) -> str:
    """The page of an object; empty if it has none."""
    place = PAGES_OF.get(thing.partition("_")[0])
    return f"{place}{thing}" if place else ""


async def _called(core: Core, tenant: str, entries: Sequence[Entry]) -> dict[str, str]:
    """What actors and objects are called: people and keys."""
    things = {thing for entry in entries for thing in (entry.actor, entry.object)}
    async with core.db.connection() as connection:
        found = await users.names(connection, tenant, [thing for thing in things if thing.startswith("usr_")])
        if any(thing.startswith("key_") for thing in things):
            found |= {key.id: f"{key.name} …{key.shown[-4:]}" for key in await tenants.list_keys(connection, tenant)}
    return found


PAGES = [
    get("/audit", Act.SEE_AUDIT, list_all),
    get("/audit.csv", Act.SEE_AUDIT, export_rows),
    get("/audit/verify", Act.SEE_AUDIT, verify),
]
