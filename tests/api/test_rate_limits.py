"""Rate limits: per key, with a burst, in memory and in Redis; and the PIN's own."""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import pytest_asyncio
from starlette.types import ASGIApp

from pickupbox.api.app import make_app
from pickupbox.api.rate_limit import Policy, RedisLimiter
from pickupbox.database import tenants
from pickupbox.telemetry import LIMITER_AWAY
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.tenants import add_tenant, issue_key
from tests.api.additions import SERVED
from tests.api.calls import call
from tests.api.contract import Operation, breaches
from tests.support.shop import Shop, client_of, open_shop

REDIS = os.environ.get("PICKUPBOX_TEST_REDIS_URL", "redis://127.0.0.1:6379/15")


@pytest_asyncio.fixture(params=["memory://", REDIS], ids=["memory", "redis"])
async def limited(core: Core, request: pytest.FixtureRequest) -> AsyncIterator[ASGIApp]:
    """An API whose buckets are its own: in Redis they carry the ids of keys that no other test has."""
    async with api_limited_by(core, request.param) as app:
        yield app


@asynccontextmanager
async def api_limited_by(core: Core, url: str) -> AsyncIterator[ASGIApp]:
    app = make_app(core, url)
    yield app
    # Only this: the end of the API's own lifespan would close the database that all tests share.
    await app._limiter.close()  # type: ignore[attr-defined]


async def shop_with(core: Core, app: ASGIApp, rate: int, burst: int) -> Shop:
    return await open_shop(core, app, rate=rate, burst=burst)


@pytest.mark.parametrize("operation", SERVED, ids=lambda operation: operation.name)
async def test_every_operation_is_limited(core: Core, app: ASGIApp, operation: Operation) -> None:
    shop = await shop_with(core, app, rate=1, burst=1)
    async with shop.http:
        assert (await shop.boxes()).status_code == 200
        answer = await call(shop, operation)
        assert (answer.status_code, answer.json()["error"]["code"]) == (429, "rate_limited")
        assert breaches(answer.json(), "PublicErrorResponse") == []
        assert answer.headers["retry-after"] == "1"


async def test_the_burst_is_let_through_and_the_next_is_not(core: Core, limited: ASGIApp) -> None:
    shop = await shop_with(core, limited, rate=1, burst=5)
    async with shop.http:
        answers = [await shop.boxes() for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]


async def test_requests_at_once_share_the_bucket(core: Core, limited: ASGIApp) -> None:
    shop = await shop_with(core, limited, rate=1, burst=5)
    async with shop.http:
        answers = await asyncio.gather(*(shop.boxes() for _ in range(20)))
    assert [answer.status_code for answer in answers].count(200) == 5


async def test_the_bucket_fills_at_its_rate(core: Core, limited: ASGIApp) -> None:
    shop = await shop_with(core, limited, rate=2, burst=2)
    async with shop.http:
        assert [(await shop.boxes()).status_code for _ in range(3)] == [200, 200, 429]
        await asyncio.sleep(0.55)
        assert [(await shop.boxes()).status_code for _ in range(2)] == [200, 429]


async def test_a_refused_request_costs_nothing(core: Core, limited: ASGIApp) -> None:
    shop = await shop_with(core, limited, rate=2, burst=1)
    async with shop.http:
        assert (await shop.boxes()).status_code == 200
        refused_until = time.monotonic() + 0.25
        while time.monotonic() < refused_until:
            assert (await shop.boxes()).status_code == 429
        await asyncio.sleep(0.26)
        assert (await shop.boxes()).status_code == 200


async def test_a_refused_request_does_nothing(core: Core, limited: ASGIApp) -> None:
    shop = await shop_with(core, limited, rate=1, burst=1)
    async with shop.http:
        assert (await shop.boxes()).status_code == 200
        assert (await shop.reserve()).status_code == 429
    async with core.db.connection() as connection:
        assert await connection.fetchval("SELECT count(*) FROM shipments WHERE tenant_id = $1", shop.tenant) == 0


async def test_the_headers_say_what_is_allowed_and_what_is_left(core: Core, limited: ASGIApp) -> None:
    shop = await shop_with(core, limited, rate=1, burst=3)
    async with shop.http:
        answers = [await shop.boxes() for _ in range(4)]
    assert {answer.headers["ratelimit-policy"] for answer in answers} == {'"key";q=3;w=3'}
    assert [answer.headers["ratelimit"] for answer in answers] == [
        '"key";r=2;t=1',
        '"key";r=1;t=2',
        '"key";r=0;t=3',
        '"key";r=0;t=3',
    ]
    assert ["retry-after" in answer.headers for answer in answers] == [False, False, False, True]


async def test_each_key_has_a_bucket_of_its_own(core: Core, limited: ASGIApp) -> None:
    shop = await shop_with(core, limited, rate=1, burst=1)
    other_key = await issue_key(core, shop.caller, "other")
    other_shop = await shop_with(core, limited, rate=1, burst=1)
    assert other_key is not None
    async with shop.http, other_shop.http, client_of(limited, other_key.api_key) as same_tenant:
        assert [(await shop.boxes()).status_code for _ in range(2)] == [200, 429]
        assert (await same_tenant.get("/boxes")).status_code == 200
        assert (await other_shop.boxes()).status_code == 200


async def test_a_new_tenant_may_ask_50_times_a_second_and_100_times_at_once(core: Core, app: ASGIApp) -> None:
    tenant = await add_tenant(core, "As it comes")
    key = await issue_key(core, Caller(tenant, "test"), "test")
    assert key is not None
    async with client_of(app, key.api_key) as client:
        began = time.monotonic()
        answers = await asyncio.gather(*(client.get("/boxes") for _ in range(150)))
        seconds = time.monotonic() - began
    # 100 at once, and the few that the bucket gained meanwhile.
    assert 100 <= [answer.status_code for answer in answers].count(200) <= 101 + 50 * seconds
    assert answers[0].headers["ratelimit-policy"] == '"key";q=100;w=2'


async def test_the_rate_can_be_set_per_tenant(core: Core) -> None:
    shop = await shop_with(core, make_app(core, "memory://"), rate=1, burst=1)
    async with core.db.connection() as connection:
        assert await tenants.set_rate(connection, shop.tenant, 20, 7)
    async with client_of(make_app(core, "memory://"), shop.api_key) as client:
        assert (await client.get("/boxes")).headers["ratelimit-policy"] == '"key";q=7;w=1'
    await shop.http.aclose()


async def test_a_pin_is_revealed_60_times_an_hour_per_key(core: Core, limited: ASGIApp) -> None:
    shop = await open_shop(core, limited)
    async with shop.http:
        shipment_id = await shop.reserved()
        assert (await shop.http.put(f"/shipments/{shipment_id}/pickup-pin")).status_code == 405  # it reveals nothing
        answers = [await shop.pin(shipment_id) for _ in range(61)]
        assert [answer.status_code for answer in answers] == [200] * 60 + [429]
        refused = answers[-1]
        assert refused.json()["error"]["code"] == "rate_limited"
        assert refused.headers["ratelimit-policy"] == '"pin";q=60;w=3600'
        assert 55 <= int(refused.headers["retry-after"]) <= 60
        assert answers[0].headers["ratelimit"].startswith('"pin";r=59;')
        # Other operations go on, and so does another key.
        assert (await shop.read(shipment_id)).status_code == 200
        other_key = await issue_key(core, shop.caller, "other")
        assert other_key is not None
        async with client_of(limited, other_key.api_key) as other:
            assert (await other.get(f"/shipments/{shipment_id}/pickup-pin")).status_code == 200


async def test_many_processes_share_the_buckets_in_redis(core: Core) -> None:
    statuses = []
    async with api_limited_by(core, REDIS) as one, api_limited_by(core, REDIS) as two:
        shop = await shop_with(core, one, rate=1, burst=4)
        async with shop.http, client_of(two, shop.api_key) as beside:
            for _ in range(3):
                statuses += [(await shop.boxes()).status_code, (await beside.get("/boxes")).status_code]
    assert statuses == [200] * 4 + [429] * 2


async def test_buckets_in_redis_go_away_by_themselves() -> None:
    limiter = RedisLimiter(REDIS)
    bucket = f"test-{os.urandom(8).hex()}"
    await limiter.take(bucket, Policy("key", 10, 20))
    assert 0 < await limiter._redis.pttl(f"pickupbox:rate:{bucket}") <= 1200
    await limiter.close()


async def test_requests_are_let_through_and_counted_while_redis_is_away(core: Core) -> None:
    before = LIMITER_AWAY._value.get()
    async with api_limited_by(core, "redis://127.0.0.1:1/0") as app:
        shop = await shop_with(core, app, rate=1, burst=1)
        async with shop.http:
            assert [(await shop.boxes()).status_code for _ in range(3)] == [200] * 3
    assert LIMITER_AWAY._value.get() == before + 3
