"""The way to PostgreSQL: a pool, transactions, limits on every wait, and one exception when it is away."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, cast

import asyncpg

from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.gathering import Gathering
from pickupbox.telemetry import BATCH

type Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
type Row = asyncpg.Record

STATEMENT_SECONDS = 10.0
ACQUIRE_SECONDS = 3.0

# Statements are few and each is bounded by an index: one generic plan each, which must not fall back to
# scanning a table that was still small when it was made.
_SESSION = {
    "application_name": "pickupbox",
    "timezone": "UTC",
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "statement_timeout": f"{STATEMENT_SECONDS:.0f}s",
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "15s",
}

_AWAY = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
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
    """One pool for one process. Opens its first connection when it is first used."""

    def __init__(self, url: str, *, size: int = 10) -> None:
        self._url = url
        self._size = size
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._opening = asyncio.Lock()
        self._gatherings: dict[Hashable, Gathering[Any, Any]] = {}

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
                    server_settings=_SESSION,
                    reset=_nothing_to_reset,
                )
            return self._pool

    async def close(self) -> None:
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
