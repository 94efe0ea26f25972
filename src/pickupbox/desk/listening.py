"""Follow a sandbox's events, show each, and forward it to a local server, signed as the worker signs.

One task reads GET /events, another forwards what was read: one request at a time, so that a breakpoint or a log is
about one event. The service remembers nothing of it; the place is kept here, after each event.
"""

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from pickupbox_sdk import AsyncPickupbox, EventNotFound, EventPage, PickupboxError

from pickupbox.desk import DeskError
from pickupbox.desk.lines import Outcome
from pickupbox.desk.memory import Place
from pickupbox.desk.sandbox import is_passing, sentence_of
from pickupbox.desk.turns import Told, Turns
from pickupbox.webhooks.egress import Answer, Egress
from pickupbox.webhooks.signing import signed_headers

POLL_SECONDS = 1.0
PAGE = 100
ROOM = 300  # what is read ahead of a server that does not take it
WAITS = (1.0, 2.0, 5.0)  # before the second, third and fourth attempt; then it is given up
LONGEST_WAIT = 5.0  # between two questions to a server or a service that does not answer at all
NOBODY = frozenset({"connect", "name"})  # no attempt: there was nobody to refuse it

type Show = Callable[[Told, Outcome | None], None]
type Note = Callable[[str], None]


@dataclass
class Count:
    """What was shown to its end, and what the local server did with it."""

    events: int = 0
    accepted: int = 0
    given_up: int = 0


class Listening:
    def __init__(
        self,
        client: AsyncPickupbox,
        base_url: str,
        place: Place,
        *,
        key: bytes,
        types: Collection[str],
        show: Show,
        note: Note,
    ) -> None:
        self.count = Count()
        self._client = client
        self._base_url = base_url
        self._place = place
        self._key = key
        self._types = types
        self._show = show
        self._note = note
        self._turns = Turns(place.after)
        self._egress = Egress(loopback=True)
        self._read = asyncio.Event()  # something new was read
        self._taken = asyncio.Event()  # something was settled
        self._away = False

    @property
    def waiting(self) -> int:
        """How many were read, and neither accepted nor given up."""
        return self._turns.waiting

    async def run(self, stop: asyncio.Event) -> None:
        """Until told to stop; raises DeskError if that makes no more sense."""
        tasks = [asyncio.create_task(work) for work in (self._follow(), self._forward(), _ended(stop))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._egress.close()
        for task in done:
            task.result()

    async def _follow(self) -> None:
        after = self._turns.after
        while True:
            page = await self._page(after)
            for event, body in zip(page.items, page.bodies(), strict=True):
                self._turns.add(Told(event, body, after))
                after = event.id
            self._read.set()
            while len(self._turns) > ROOM:
                self._taken.clear()
                await self._taken.wait()
            if not page.has_more:
                await asyncio.sleep(POLL_SECONDS)

    async def _page(self, after: str | None) -> EventPage:
        """Asks until it is answered: meanwhile the service keeps what happens."""
        wait = 0.0
        while True:
            try:
                page = await self._client.list_events(after, PAGE)
            except EventNotFound:
                raise DeskError(f"{self._base_url} no longer knows the event {after}. Start again.") from None
            except PickupboxError as error:
                if not is_passing(error):
                    raise sentence_of(error, self._base_url) from None
                if not wait:
                    self._note(f"The sandbox does not answer ({error}). Asking again until it does; nothing is lost.")
                wait = min(wait + 1, LONGEST_WAIT)
                await asyncio.sleep(wait)
            else:
                if wait:
                    self._note("The sandbox answers again.")
                return page

    async def _forward(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._read.clear()
            told = self._turns.next(loop.time())
            if told is None:
                await _either(self._read, self._turns.wait(loop.time()))
            elif self._types and told.event.type not in self._types:
                self._settle(told)
            elif not self._place.target:
                self._show(told, None)
                self.count.events += 1
                self._settle(told)
                await asyncio.sleep(0)
            else:
                await self._send(told, loop)

    async def _send(self, told: Told, loop: asyncio.AbstractEventLoop) -> None:
        wait = 1.0
        while (answer := await self._post(told)).error in NOBODY:
            if not self._away:
                self._note(f"Nobody answers at {self._place.target}. Trying again until somebody does; events wait.")
            self._away = True
            await asyncio.sleep(wait)
            wait = min(wait + 1, LONGEST_WAIT)
        self._away = False
        attempt = self._turns.attempts(told) + 1
        outcome = _judged(answer, attempt)
        self._show(told, outcome)
        if outcome.again_in is not None:
            self._turns.again(told, loop.time() + outcome.again_in)
            return
        self.count.events += 1
        self.count.accepted += outcome.word == "accepted"
        self.count.given_up += outcome.word == "given_up"
        self._settle(told)

    async def _post(self, told: Told) -> Answer:
        headers = signed_headers([self._key], told.event.id, int(time.time()), told.body)
        return await self._egress.post(self._place.target, told.body, headers)

    def _settle(self, told: Told) -> None:
        self._turns.settle(told)
        self._taken.set()
        self._place.keep(self._turns.after, told.event.data.box_id)


def _judged(answer: Answer, attempt: int) -> Outcome:
    milliseconds = 1000 * answer.seconds
    if answer.status is not None and 200 <= answer.status < 300:
        return Outcome("accepted", answer.status, None, milliseconds, attempt)
    if attempt > len(WAITS):
        return Outcome("given_up", answer.status, answer.error, milliseconds, attempt)
    return Outcome("refused", answer.status, answer.error, milliseconds, attempt, WAITS[attempt - 1])


async def _either(event: asyncio.Event, seconds: float | None) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


async def _ended(stop: asyncio.Event) -> None:
    await stop.wait()
