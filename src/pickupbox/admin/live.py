"""What is live: server-sent events. The database's bell wakes the hub, which asks once for all that is being watched,
renders what changed once per language, and sends it to everybody who watches. Nobody polls."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response, StreamingResponse

from pickupbox.admin import words
from pickupbox.admin.routes import Page, get
from pickupbox.admin.visit import Visit
from pickupbox.domain.errors import NotFound, TemporarilyUnavailable
from pickupbox.domain.people import TooManyAttempts
from pickupbox.domain.roles import Act
from pickupbox.telemetry import WATCHERS, log
from pickupbox.usecases.core import Core
from pickupbox.usecases.sessions import Visitor, roles_of

PAUSE = 0.1  # between two looks, however often the bell rings
SAFETY = 15.0  # a look without a bell, for what time alone changes; also keeps the connection open
CHECK = 15.0  # who is out is told nothing more after so many seconds
LONGEST = 600.0  # then the browser connects anew
AFTER_AN_ERROR = 1.0
MOST_WATCHERS = 5_000
MOST_OF_ONE = 50  # of one person's
WAIT = 60  # for who comes when it is full
MOST_TOPICS = 8  # of one page

type Thing = tuple[str, str]  # tenant, id
type Key = tuple[str, str, str]  # topic, tenant, id


@dataclass(frozen=True, slots=True)
class Topic:
    """Something a page can watch. `fetch` gives one comparable value for each thing that exists; `render` makes
    of it HTML per name of a server-sent event, in the language of the task, for everybody alike."""

    act: Act
    fetch: Callable[[Core, Sequence[Thing]], Awaitable[Mapping[Thing, Any]]]
    render: Callable[[Any], Mapping[str, str]]
    pause: float = 0.0  # seconds between two looks at least, where looking is dear


TOPICS: dict[str, Topic] = {}


@dataclass(slots=True, eq=False)
class Watcher:
    """One open page: what it has still to be told. Only the newest of each name is kept."""

    visitor: Visitor
    language: str
    keys: tuple[Key, ...]
    over: bool = False
    waiting: dict[tuple[Key, str], str] = field(default_factory=dict)
    woken: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, key: Key, told: Mapping[str, str]) -> None:
        for name, html in told.items():
            self.waiting[key, name] = html
        self.woken.set()

    def end(self) -> None:
        self.over = True
        self.woken.set()


class Hub:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._watchers: dict[Key, set[Watcher]] = defaultdict(set)
        self._known: dict[Key, Any] = {}
        self._rung = asyncio.Event()
        self._looked: dict[str, float] = {}
        self._open: set[Watcher] = set()

    async def run(self) -> None:
        """Listen, look and ask who is still there, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for step in (self._listen, self._look, self._end_those_who_are_out):
                tasks.create_task(_again_and_again(step))

    async def _listen(self) -> None:
        """Until the connection is lost."""
        await self._core.db.listen(self._rung.set, asyncio.Event())
        await asyncio.sleep(AFTER_AN_ERROR)

    async def _look(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._rung.wait(), SAFETY)
        self._rung.clear()
        try:
            await self._tell_changes()
        except Exception:
            self._rung.set()  # what was not told is still to be told
            raise
        await asyncio.sleep(PAUSE)

    async def _end_those_who_are_out(self) -> None:
        """One question for all. Whose role is another now may connect anew, and is judged by it."""
        await asyncio.sleep(CHECK)
        watchers = list(self._open)
        roles = await roles_of(self._core, {watcher.visitor.session for watcher in watchers})
        for watcher in watchers:
            if roles.get(watcher.visitor.session) is not watcher.visitor.role:
                watcher.end()

    async def _tell_changes(self) -> None:
        for topic in TOPICS:
            keys = [key for key in self._watchers if key[0] == topic]
            if keys and self._is_early(topic):
                continue
            for key, value in (await self._fetch(topic, keys)).items():
                if self._known.get(key) != value:
                    self._known[key] = value
                    self._tell(key, value, self._watchers.get(key, set()))

    def _is_early(self, topic: str) -> bool:
        """Whether it was looked at a moment ago; then it has its turn when the moment is over."""
        loop = asyncio.get_running_loop()
        left = self._looked.get(topic, 0.0) + TOPICS[topic].pause - loop.time()
        if left > 0:
            loop.call_later(left, self._rung.set)
            return True
        self._looked[topic] = loop.time()
        return False

    async def _fetch(self, topic: str, keys: Sequence[Key]) -> dict[Key, Any]:
        if not keys:
            return {}
        found = await TOPICS[topic].fetch(self._core, [(tenant, thing) for _, tenant, thing in keys])
        return {(topic, tenant, thing): value for (tenant, thing), value in found.items()}

    def _tell(self, key: Key, value: Any, watchers: set[Watcher]) -> None:
        rendered: dict[str, Mapping[str, str]] = {}
        for watcher in watchers:
            if watcher.language not in rendered:
                words.speak(watcher.language)
                rendered[watcher.language] = TOPICS[key[0]].render(value)
            watcher.tell(key, rendered[watcher.language])

    async def watch(self, visitor: Visitor, keys: tuple[Key, ...], language: str) -> AsyncGenerator[bytes]:
        """The stream of one page: how it is now, then every change."""
        watcher = Watcher(visitor, language, keys)
        self._join(watcher)
        try:
            async with asyncio.timeout(LONGEST):
                for key in keys:
                    if key not in self._known:
                        self._known.update(await self._fetch(key[0], [key]))
                    if key in self._known:
                        self._tell(key, self._known[key], {watcher})
                yield b"retry: 1000\n\n"
                while True:
                    told = await _next(watcher)
                    if watcher.over:
                        return
                    yield told
        except TimeoutError:
            return
        finally:
            self._leave(watcher)

    def _join(self, watcher: Watcher) -> None:
        self._open.add(watcher)
        WATCHERS.inc()
        for key in watcher.keys:
            self._watchers[key].add(watcher)

    def _leave(self, watcher: Watcher) -> None:
        self._open.discard(watcher)
        WATCHERS.dec()
        for key in watcher.keys:
            self._watchers[key].discard(watcher)
            if not self._watchers[key]:
                del self._watchers[key]
                self._known.pop(key, None)

    def make_sure_of_room(self, person: str) -> None:
        if len(self._open) >= MOST_WATCHERS:
            raise TemporarilyUnavailable(retry_after=WAIT)
        if sum(watcher.visitor.id == person for watcher in self._open) >= MOST_OF_ONE:
            raise TooManyAttempts(retry_after=WAIT)


async def _again_and_again(step: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await step()
        except TemporarilyUnavailable as error:
            log.warning("live_waits_for_database", cause=repr(error.__cause__))
            await asyncio.sleep(AFTER_AN_ERROR)
        except Exception as error:  # noqa: BLE001 - one bad step must not end what is live for everybody
            log.error("live_failed", exc_info=error)
            await asyncio.sleep(AFTER_AN_ERROR)


async def _next(watcher: Watcher) -> bytes:
    try:
        await asyncio.wait_for(watcher.woken.wait(), SAFETY)
    except TimeoutError:
        return b": still here\n\n"
    watcher.woken.clear()
    waiting, watcher.waiting = watcher.waiting, {}
    return b"".join(_event(name, html) for (_, name), html in waiting.items())


def _event(name: str, html: str) -> bytes:
    lines = "\n".join(f"data: {line}" for line in html.splitlines())
    return f"event: {name}\n{lines}\n\n".encode()


def page(hub: Hub) -> Page:
    """`/live?watch=box:box_…&watch=tenant:`; a thing without an id is the tenant's own."""

    async def stream(visit: Visit) -> Response:
        keys = tuple(_key(visit, wanted) for wanted in visit.request.query_params.getlist("watch")[:MOST_TOPICS])
        if not keys:
            raise NotFound
        hub.make_sure_of_room(visit.person.id)
        return StreamingResponse(
            hub.watch(visit.person, keys, words.language()),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    # Not one's own account: like the pages that it feeds, it asks owners and administrators for their second factor.
    return get("/live", Act.SEE_OVERVIEW, stream, by_itself=True)


def _key(visit: Visit, wanted: str) -> Key:
    topic, _, thing = wanted.partition(":")
    if topic not in TOPICS or not visit.may(TOPICS[topic].act):
        raise NotFound
    return (topic, visit.tenant, thing or visit.tenant)
