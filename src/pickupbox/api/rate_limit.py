"""Rate limits as token buckets, by the generic cell rate algorithm: one number per bucket, no writes to the
database. In memory for one process; in Redis or Valkey, many buckets per round trip, for many."""

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from redis.asyncio import Redis
from redis.exceptions import RedisError

from pickupbox.gathering import Gathering
from pickupbox.telemetry import LIMITER_AWAY

REDIS_SECONDS = 0.25
MEMORY_BUCKETS = 100_000


@dataclass(frozen=True, slots=True)
class Policy:
    """`burst` requests at once, refilled at `per_second`."""

    name: str
    per_second: float
    burst: int

    @property
    def window(self) -> int:
        """Seconds in which an empty bucket fills."""
        return max(1, math.ceil(self.burst / self.per_second))


@dataclass(frozen=True, slots=True)
class Verdict:
    allowed: bool
    remaining: int
    retry_after: float


class Limiter(Protocol):
    async def take(self, bucket: str, policy: Policy) -> Verdict:
        """Take one token, if there is one."""

    async def close(self) -> None: ...


def take(full_at: float, now: float, policy: Policy) -> tuple[float, Verdict]:
    """Take one token from a bucket that will be full at `full_at`; when it will be full now, and the verdict."""
    interval = 1 / policy.per_second
    after = max(full_at, now) + interval
    verdict = _verdict(now + policy.burst * interval - after, policy)
    return (after if verdict.allowed else full_at), verdict


def _verdict(spare: float, policy: Policy) -> Verdict:
    """What follows from the seconds of refill that the bucket has to spare once the token is taken."""
    if spare < -1e-6:
        return Verdict(allowed=False, remaining=0, retry_after=-spare)
    return Verdict(allowed=True, remaining=math.floor(spare * policy.per_second + 1e-6), retry_after=0)


class MemoryLimiter:
    """For one process."""

    def __init__(self) -> None:
        self._full_at: dict[str, float] = {}

    async def take(self, bucket: str, policy: Policy) -> Verdict:
        now = time.monotonic()
        if len(self._full_at) >= MEMORY_BUCKETS:
            self._full_at = {name: at for name, at in self._full_at.items() if at > now}
        self._full_at[bucket], verdict = take(self._full_at.get(bucket, 0), now, policy)
        return verdict

    async def close(self) -> None:
        self._full_at.clear()


# The same arithmetic as `take`, on Redis's own clock: from each bucket as many tokens as are wanted and there.
# Answers how many seconds of refill each bucket had to spare before.
_TAKE_MANY = """
local clock = redis.call('TIME')
local now = clock[1] + clock[2] / 1000000
local spares = {}
for i, bucket in ipairs(KEYS) do
    local interval, burst, wanted = 1 / tonumber(ARGV[3 * i - 2]), tonumber(ARGV[3 * i - 1]), tonumber(ARGV[3 * i])
    local full_at = math.max(tonumber(redis.call('GET', bucket) or '0'), now)
    local spare = now + burst * interval - full_at
    local taken = math.min(wanted, math.floor(spare / interval + 0.000001))
    if taken > 0 then
        local after = full_at + taken * interval
        redis.call('SET', bucket, string.format('%.6f', after), 'PX', math.ceil((after - now) * 1000) + 1000)
    end
    spares[i] = string.format('%.6f', spare)
end
return spares
"""


class RedisLimiter:
    """For many processes. While Redis is away, requests are let through and counted."""

    def __init__(self, url: str) -> None:
        self._redis = Redis.from_url(url, socket_timeout=REDIS_SECONDS, socket_connect_timeout=REDIS_SECONDS)
        self._script = self._redis.register_script(_TAKE_MANY)
        self._gathering = Gathering(self._take_many, blames_one=lambda _: False)

    async def take(self, bucket: str, policy: Policy) -> Verdict:
        try:
            return await self._gathering.ask((bucket, policy))
        except (RedisError, OSError):
            LIMITER_AWAY.inc()
            return Verdict(allowed=True, remaining=policy.burst, retry_after=0)

    async def _take_many(self, wanted: Sequence[tuple[str, Policy]]) -> Sequence[Verdict]:
        """One look at each bucket, however many want a token from it; who comes first is served first."""
        counts = Counter(wanted)
        spares = await self._script(
            keys=[f"pickupbox:rate:{bucket}" for bucket, _ in counts],
            args=[number for (_, policy), n in counts.items() for number in (policy.per_second, policy.burst, n)],
        )
        left = {question: float(spare) for question, spare in zip(counts, spares, strict=True)}
        verdicts = []
        for question in wanted:
            interval = 1 / question[1].per_second
            verdict = _verdict(left[question] - interval, question[1])
            if verdict.allowed:
                left[question] -= interval
            verdicts.append(verdict)
        return verdicts

    async def close(self) -> None:
        await self._redis.aclose()


def limiter(url: str) -> Limiter:
    return MemoryLimiter() if url == "memory://" else RedisLimiter(url)
