"""The way to PostgreSQL: a pool, transactions, limits on every wait, and one exception when it is away."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, cast

import asyncpg

from pickupbox.database.bell import Bell
from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.gathering import Gathering
from pickupbox.telemetry import BATCH

type Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
type Row = asyncpg.Record

STATEMENT_SECONDS = 10.0
ACQUIRE_SECONDS = 3.0
CHANNEL = "pickupbox"

# Statements are few and each is bounded by an index: one generic plan each, which must not fall back to
# scanning a table that was still small when it was made, nor to reading an index from end to end.
_SESSION = {
    "application_name": "pickupbox",
    "timezone": "UTC",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_mergejoin": "off",
    "enable_hashjoin": "off",
    "statement_timeout": f"{STATEMENT_SECONDS:.0f}s",
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "15s",
}

_AWAY = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # what a connection says in the moment in which it is being cut
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.QueryCanceledError,
    asyncpg.LockNotAvailableError,
    asyncpg.InvalidCatalogNameError,
)
_TRY_AGAIN = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)


async def _nothing_to_reset(_: object) -> None:
    """We leave no session state behind, so a connection needs no reset query when it is given back."""


@contextmanager
def _away_as_refusal() -> Iterator[None]:
    try:
        yield
    except (*_AWAY, *_TRY_AGAIN) as error:
        raise TemporarilyUnavailable(retry_after=1) from error
    except asyncpg.PostgresError as error:
        # PostgreSQL quotes the whole row of a broken constraint, and the row may hold a customer's name.
        error.detail = None
        raise


class Database:
    """One pool for one process. Opens its first connection when it is first used.

    Without `durable`, a commit does not wait for the disk: for work that is done again if it is forgotten.
    """

    def __init__(self, url: str, *, size: int = 10, durable: bool = True) -> None:
        self._url = url
        self._size = size
        self._session = _SESSION if durable else {**_SESSION, "synchronous_commit": "off"}
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._opening = asyncio.Lock()
        self._gatherings: dict[Hashable, Gathering[Any, Any]] = {}
        self._bell = Bell(self._notify)

    async def _open(self) -> "asyncpg.Pool[asyncpg.Record]":
        async with self._opening:
            if self._pool is None:
                self._pool = await asyncpg.create_pool(
                    self._url,
                    min_size=0,
                    max_size=self._size,
                    timeout=ACQUIRE_SECONDS,
                    command_timeout=STATEMENT_SECONDS + 1,
                    max_inactive_connection_lifetime=300,
                    server_settings=self._session,
                    reset=_nothing_to_reset,
                )
            return self._pool

    async def close(self) -> None:
        await self._bell.close()
        if self._pool is not None:
            try:
                await asyncio.wait_for(self._pool.close(), timeout=5)
            except TimeoutError:
                self._pool.terminate()
            self._pool = None

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection for single statements, each its own commit."""
        with _away_as_refusal():
            pool = self._pool or await self._open()
            async with pool.acquire(timeout=ACQUIRE_SECONDS) as connection:
                yield connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """One act: everything inside commits together or not at all."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    def ring(self) -> None:
        """After a commit: wake those who deliver to shops and boxes. They would find the work without it, but later."""
        self._bell.ring()

    async def _notify(self) -> None:
        async with self.connection() as connection:
            await connection.execute(f"NOTIFY {CHANNEL}")

    async def listen(self, heard: Callable[[], None], stop: asyncio.Event) -> None:
        """Call `heard` at every ring, until `stop` or until the connection is lost."""
        async with self.connection() as connection:
            over = asyncio.Event()
            connection.add_termination_listener(lambda _: over.set())
            await connection.add_listener(CHANNEL, lambda *_: heard())
            heard()  # for what was told before we listened
            ends = [asyncio.create_task(event.wait()) for event in (stop, over)]
            try:
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for end in ends:
                    end.cancel()
                if not over.is_set():
                    await connection.reset()

    async def together[Question, Answer](
        self,
        ask_many: Callable[[Connection, Sequence[Question]], Awaitable[Sequence[Answer]]],
        question: Question,
    ) -> Answer:
        """Ask one question of `ask_many`, together with those that wait for the same statement."""
        gathering = self._gatherings.get(ask_many)
        if gathering is None:
            gathering = self._gatherings[ask_many] = Gathering(
                partial(self._ask_many, ask_many), blames_one=_blames_one
            )
        return cast(Answer, await gathering.ask(question))

    async def _ask_many(self, ask_many: Callable[..., Awaitable[Any]], questions: Sequence[Any]) -> Any:
        BATCH.labels(ask_many.__name__).observe(len(questions))
        async with self.connection() as connection:
            return await ask_many(connection, questions)


def _blames_one(error: Exception) -> bool:
    """Whether one question of a batch may be at fault: not so when PostgreSQL itself is away."""
    away = isinstance(error, TemporarilyUnavailable) and not isinstance(error.__cause__, _TRY_AGAIN)
    return not away
