"""Where `pickupbox listen` begins: now, with the oldest, after a given event, or where it stopped."""

from collections.abc import Callable
from dataclasses import dataclass

from pickupbox_sdk import AsyncPickupbox, EventNotFound

from pickupbox.desk import DeskError
from pickupbox.desk.memory import Place

PAGE = 1000  # the most that the API gives
SAID_EVERY = 10 * PAGE


@dataclass(frozen=True, slots=True)
class Wish:
    """At most one of them; with none it goes on where it stopped, and the first time begins now."""

    after: str | None = None
    from_start: bool = False
    from_now: bool = False


async def begin(client: AsyncPickupbox, place: Place, wish: Wish, note: Callable[[str], None]) -> str:
    """Put the place there, and say where that is."""
    if sum([wish.after is not None, wish.from_start, wish.from_now]) > 1:
        raise DeskError("Say one of --after, --from-start and --from-now.", 2)
    if wish.after is not None:
        if not await _is_known(client, wish.after):
            raise DeskError(
                f"The sandbox knows no event {wish.after}, or no longer. Use --from-start or --from-now.", 2
            )
        place.after = wish.after
        return f"Begins after {wish.after}."
    if wish.from_start:
        place.after = None
        return "Begins with the oldest event that is kept."
    if place.known and not wish.from_now:
        return await _gone_on(client, place)
    place.after = await _newest(client, note)
    return "Begins now."


async def _gone_on(client: AsyncPickupbox, place: Place) -> str:
    if place.after is None:
        return "Goes on where it stopped, before the first event."
    if await _is_known(client, place.after):
        return "Goes on where it stopped; --from-now skips what happened meanwhile."
    place.after = None
    return "The event after which it stopped is no longer kept: begins with the oldest that is."


async def _is_known(client: AsyncPickupbox, event_id: str) -> bool:
    try:
        await client.list_events(event_id, 1)
    except EventNotFound:
        return False
    return True


async def _newest(client: AsyncPickupbox, note: Callable[[str], None]) -> str | None:
    """The feed begins with the oldest, so all pages are turned over."""
    after, turned = None, 0
    while True:
        page = await client.list_events(after, PAGE)
        after = page.items[-1].id if page.items else after
        turned += len(page.items)
        if not page.has_more:
            return after
        if turned % SAID_EVERY == 0:
            note(f"Turning over what happened before: {turned:,} events so far.")
