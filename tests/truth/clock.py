"""One clock for the whole street, and it moves only when the model says so: the event loop's, PostgreSQL's, the
gateway's and the box's. An hour costs nothing, and a history is the same each time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from heapq import heappop
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import asyncpg

from pickupbox.database.connection import Connection, Database

START = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)  # whoever asks another clock is found out
LOOKS = 0.05  # what is due within that much is due together
ANSWER_PAUSE, ANSWER_ROUNDS = 0.1, 300

# PostgreSQL finds our now() before its own, and the doors keep a list of every change that was committed.
MOVED_BY_HAND = """
CREATE SCHEMA street;
CREATE FUNCTION street.now() RETURNS timestamptz STABLE LANGUAGE sql
    AS $$ SELECT current_setting('street.moment')::timestamptz $$;
CREATE FUNCTION street.clock_timestamp() RETURNS timestamptz STABLE LANGUAGE sql AS 'SELECT street.now()';
DO $$
DECLARE c record;
BEGIN
    FOR c IN SELECT table_name, column_name FROM information_schema.columns
        WHERE table_schema = 'public' AND column_default = 'now()'
    LOOP
        EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET DEFAULT street.now()', c.table_name, c.column_name);
    END LOOP;
    EXECUTE format('ALTER DATABASE %I SET search_path = street, pg_catalog, public', current_database());
END $$;
CREATE TABLE street.swings (number bigint GENERATED ALWAYS AS IDENTITY, box_id text, code text, is_open boolean);
CREATE INDEX ON street.swings (box_id);
CREATE FUNCTION street.note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO street.swings (box_id, code, is_open) VALUES (NEW.box_id, NEW.code, NEW.is_open);
    RETURN NEW;
END $$;
CREATE TRIGGER note AFTER INSERT OR UPDATE ON doors FOR EACH ROW EXECUTE FUNCTION street.note();
"""


class HandLoop(asyncio.SelectorEventLoop):
    """Its time stands still until it is moved."""

    moment = 0.0
    began = 0.0  # the moment at which this history's day begins

    def time(self) -> float:
        return self.moment

    @property
    def is_quiet(self) -> bool:
        return not self._ready  # type: ignore[attr-defined]

    def next_timer(self) -> float | None:
        timers = self._scheduled  # type: ignore[attr-defined]
        while timers and timers[0].cancelled():
            heappop(timers)._scheduled = False
            self._timer_cancelled_count -= 1
        return timers[0].when() if timers else None


class HandDatabase(Database):
    """Tells each connection the time before it is asked anything, and knows when nobody asks.

    The bell is not heard: what it wakes is found without it, only later.
    """

    def __init__(self, url: str, loop: HandLoop) -> None:
        super().__init__(url, size=4, durable=False)
        self._loop = loop
        self._told: WeakKeyDictionary[object, datetime] = WeakKeyDictionary()
        self._busy = 0
        self._rests = asyncio.Event()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        self._busy += 1
        self._rests.clear()
        try:
            async with super().connection() as connection:
                moment, session = now(self._loop), connection._con
                if self._told.get(session) != moment:
                    self._told[session] = moment
                    await connection.execute("SELECT set_config('street.moment', $1, false)", moment.isoformat())
                yield connection
        finally:
            self._busy -= 1
            if not self._busy:
                self._rests.set()

    def ring(self, *_: str) -> None:
        pass

    async def listen(self, *_: Any) -> None:
        await asyncio.Event().wait()

    async def settle(self) -> None:
        """Until whoever can do something now has done it."""
        while True:
            await asyncio.sleep(0)
            if self._busy:
                await self._rests.wait()
            elif self._loop.is_quiet:
                return

    async def move(self, seconds: float) -> None:
        """Let time pass, with everything that is due on the way."""
        end = self._loop.moment + seconds
        await self.settle()
        # What is due at the very end has its turn next time: after years, a moment later is the same number.
        while (due := self._loop.next_timer()) is not None and due < end:
            self._loop.moment = max(self._loop.moment, min(due + LOOKS, end))
            await self.settle()
        self._loop.moment = end

    async def during[Answer](self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Let time pass until somebody has his answer."""
        asking = asyncio.ensure_future(work)
        for _ in range(ANSWER_ROUNDS):
            await self.settle()
            if asking.done():
                return asking.result()
            await self.move(ANSWER_PAUSE)
        asking.cancel()
        raise AssertionError("no answer comes")

    async def jump(self, seconds: float) -> None:
        """Let a long time pass, and then everything that was due on the way, once."""
        await self.settle()
        self._loop.moment += seconds
        await self.settle()


def now(loop: HandLoop) -> datetime:
    return START + timedelta(seconds=loop.moment - loop.began)


def moved(loop: HandLoop, skew: Callable[[], timedelta] = timedelta) -> type[datetime]:
    """What a module finds under `datetime`."""

    class Moved(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return (now(loop) + skew()).astimezone(tz)

    return Moved


def board(loop: HandLoop, switched_on: Callable[[], float]) -> SimpleNamespace:
    """What the box's clock finds under `time`: the ticks of a board count from when it was switched on."""
    return SimpleNamespace(CLOCK_BOOTTIME=7, clock_gettime=lambda _: loop.moment - switched_on())


async def lasting_pool(url: str, **options: Any) -> "asyncpg.Pool[asyncpg.Record]":
    """Connections that do not end because an hour went by in a moment."""
    return await asyncpg.pool.create_pool(url, **{**options, "max_inactive_connection_lifetime": 0})
