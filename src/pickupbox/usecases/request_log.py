"""Look at the requests that a tenant's keys made of the API in the last week."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pickupbox.database import requests
from pickupbox.database.requests import Place, Request
from pickupbox.usecases.core import Core
from pickupbox.usecases.logs import LOOK, ROWS, LogPage, cursor_of, read_cursor

KEPT_DAYS = 7


@dataclass(frozen=True, slots=True)
class Statuses:
    lowest: int
    highest: int


ANY = Statuses(0, 999)


async def list_requests(
    core: Core, tenant: str, cursor: str = "", *, key_id: str | None = None, statuses: Statuses = ANY
) -> LogPage[Request]:
    """A page of requests, newest first, of that key and with such a status."""
    before = Place(*read_cursor(cursor, datetime.now(UTC) + timedelta(minutes=1)))
    async with core.db.connection() as connection:
        rows = await requests.list_before(
            connection,
            tenant,
            before,
            ROWS + 1,
            look=LOOK,
            key_id=key_id,
            lowest=statuses.lowest,
            highest=statuses.highest,
        )
        if len(rows) > ROWS:
            last = rows[ROWS - 1]
            return LogPage(rows[:ROWS], cursor_of(last.at, last.request_id))
        end = await requests.place_after(connection, tenant, before, LOOK)
    return LogPage(rows, cursor_of(*end), end.at) if end else LogPage(rows, None)


async def find_requests(core: Core, tenant: str, request_id: str) -> LogPage[Request]:
    """The requests of that id, the newest first."""
    async with core.db.connection() as connection:
        return LogPage(await requests.find(connection, tenant, request_id, ROWS), None)
