"""Reading on in GET /events: a generator of steps, as in `attempts`. No I/O here."""

from collections.abc import Generator

from pickupbox_sdk.attempts import Sleep
from pickupbox_sdk.calls import Call, list_events
from pickupbox_sdk.models import EventPage


def reading(
    after: str | None, limit: int, *, follow: bool, poll_seconds: float, idle_timeout: float | None
) -> Generator[Call[EventPage] | Sleep, EventPage | None, None]:
    """The pages to ask for, one after the other, and the waits between them.

    Without `follow` it ends with the last page; with it, after `idle_timeout` seconds without an event.
    """
    if not 0.05 <= poll_seconds <= 3600:
        raise ValueError("poll_seconds is between 0.05 and 3600")
    idle = 0.0
    while True:
        page = yield list_events(after, limit)
        if page is None:
            raise TypeError("a call is answered with its page")
        if page.items:
            after = page.items[-1].id
            idle = 0.0
        if page.has_more:
            continue
        if not follow or (idle_timeout is not None and idle >= idle_timeout):
            return
        wait = poll_seconds if idle_timeout is None else min(poll_seconds, idle_timeout - idle)
        idle += wait
        yield Sleep(wait)
