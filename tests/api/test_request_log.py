"""The log of requests: what each key asked, found by its id; it costs a request nothing, and keeps nothing secret."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from pickupbox.api import request_log
from pickupbox.api.app import make_app
from pickupbox.api.entrance import Entrance
from pickupbox.database.connection import Database
from pickupbox.settings import Settings
from pickupbox.telemetry import LOG_DROPPED
from pickupbox.usecases.core import Core, open_core
from pickupbox.usecases.request_log import Statuses, find_requests, list_requests
from tests.support.shop import Shop, client_of, open_shop
from tests.support.wire import counting_wire


@pytest_asyncio.fixture
async def logged(core: Core) -> AsyncIterator[tuple[Shop, Entrance]]:
    """A shop at an API of its own, whose log is written when the test says so."""
    app = make_app(core, "memory://")
    shop = await open_shop(core, app)
    async with shop.http:
        yield shop, app


def dropped(cause: str) -> float:
    return LOG_DROPPED.labels(cause)._value.get()


async def test_a_request_is_found_by_its_id_with_what_was_asked_and_answered(logged: tuple[Shop, Entrance]) -> None:
    shop, app = logged
    answer = await shop.read("shp_c1_none")
    await app.request_log.write()
    (found,) = (await find_requests(shop.core, shop.tenant, answer.headers["x-request-id"])).rows
    assert (found.key_id, found.operation, found.method, found.path, found.status, found.code, found.address) == (
        shop.key_id,
        "get_shipment",
        "GET",
        "/v1/shipments/shp_c1_none",
        404,
        "shipment_not_found",
        "127.0.0.1",
    )
    assert 0 < found.milliseconds < 10_000


async def test_what_others_asked_is_not_found(logged: tuple[Shop, Entrance], other_shop: Shop) -> None:
    shop, app = logged
    request_id = (await shop.boxes()).headers["x-request-id"]
    await app.request_log.write()
    assert (await find_requests(shop.core, other_shop.tenant, request_id)).rows == []
    assert (await list_requests(shop.core, other_shop.tenant)).rows == []


async def test_neither_a_pin_nor_a_body_nor_a_query_is_kept(logged: tuple[Shop, Entrance]) -> None:
    shop, app = logged
    made = (await shop.reserve("secret-order", customer_name="Ada Lovelace")).json()
    pin = (await shop.pin(made["id"])).json()["pickup_pin"]
    await shop.http.get("/shipments", params={"external_order_id": "secret-order"})
    await app.request_log.write()
    rows = (await list_requests(shop.core, shop.tenant)).rows
    assert len(rows) == 3
    text = str([(one.path, one.operation, one.code) for one in rows]).replace(made["id"], "")
    for secret in (pin, "secret-order", "Ada", "?"):
        assert secret not in text


async def test_what_a_stranger_asks_is_not_kept(logged: tuple[Shop, Entrance]) -> None:
    _, app = logged
    async with client_of(app, "pbx_test_nonsense") as stranger:
        request_id = (await stranger.get("/boxes")).headers["x-request-id"]
    assert [one for one in app.request_log._gathered if one.request_id == request_id] == []


@pytest.mark.parametrize("path", ["/shipments/a%00b", "/shipments/%ff%fe", f"/shipments/{'x' * 5000}"])
async def test_a_path_that_postgresql_cannot_hold_is_kept_as_far_as_it_can(
    logged: tuple[Shop, Entrance], path: str
) -> None:
    shop, app = logged
    request_id = (await shop.http.get(path)).headers["x-request-id"]
    await app.request_log.write()
    (found,) = (await find_requests(shop.core, shop.tenant, request_id)).rows
    assert len(found.path) <= 200
    assert found.code == "invalid_path" or found.status == 404


async def test_pages_go_back_in_time_without_a_gap_and_by_key_and_status(
    logged: tuple[Shop, Entrance], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pickupbox.usecases.request_log.ROWS", 3)
    monkeypatch.setattr("pickupbox.usecases.request_log.LOOK", 4)
    shop, app = logged
    ids = [(await shop.boxes()).headers["x-request-id"] for _ in range(7)]
    lost = (await shop.read("shp_c1_none")).headers["x-request-id"]
    ids += [lost, *[(await shop.boxes()).headers["x-request-id"] for _ in range(4)]]
    await app.request_log.write()
    assert await _all(shop) == ids[::-1]
    assert await _all(shop, statuses=Statuses(400, 499)) == [lost]
    assert await _all(shop, key_id="key_c1_other") == []
    assert await _all(shop, key_id=shop.key_id) == ids[::-1]


async def _all(shop: Shop, **wanted: Any) -> list[str]:
    found, cursor, pages = list[str](), "", 0
    while True:
        page = await list_requests(shop.core, shop.tenant, cursor, **wanted)
        found += [one.request_id for one in page.rows]
        pages += 1
        assert pages < 10
        if page.next is None:
            return found
        cursor = page.next


@pytest.mark.parametrize("cursor", ["", "x", "2031-01-01T00:00:00~", "2031-01-01~\0", "~", "\0"])
async def test_a_cursor_that_is_none_of_ours_begins_with_the_newest(logged: tuple[Shop, Entrance], cursor: str) -> None:
    shop, app = logged
    await shop.boxes()
    await app.request_log.write()
    assert len((await list_requests(shop.core, shop.tenant, cursor)).rows) == 1


async def test_a_create_stays_one_round_trip_and_many_requests_are_written_in_one_statement(
    settings: Settings,
) -> None:
    async with counting_wire(settings.database_url) as wire:
        core = open_core(settings.model_copy(update={"database_url": wire.url, "database_pool": 1}))
        app = make_app(core, "memory://")
        shop = await open_shop(core, app)
        async with client_of(app, shop.api_key) as http:
            shop = replace(shop, http=http)
            await shop.reserved("warm-up")
            await app.request_log.write()
            before = wire.round_trips
            assert (await shop.reserve("order-1")).status_code == 201
            assert wire.round_trips - before == 1
            for number in range(10):
                await shop.reserve(f"order-1{number}")
            before = wire.round_trips
            await app.request_log.write()
            # COPY asks for the columns' types, then sends all rows.
            assert wire.round_trips - before <= 4
        assert len((await list_requests(core, shop.tenant)).rows) == 12
        await core.db.close()


async def test_what_does_not_fit_is_dropped_and_counted(
    logged: tuple[Shop, Entrance], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_log, "GATHERED", 2)
    shop, app = logged
    before = dropped("full")
    for _ in range(5):
        assert (await shop.boxes()).status_code == 200
    assert dropped("full") - before == 3
    await app.request_log.write()
    assert len((await list_requests(shop.core, shop.tenant)).rows) == 2


async def test_while_the_database_is_away_requests_are_dropped_and_counted_and_the_log_goes_on(
    logged: tuple[Shop, Entrance], core: Core
) -> None:
    shop, app = logged
    nowhere = replace(core, db=Database("postgresql://127.0.0.1:9/none"))
    log = request_log.RequestLog(nowhere)
    await shop.boxes()
    log._gathered = app.request_log._gathered
    before = dropped("away")
    await log.write()
    assert dropped("away") - before == 1
    await shop.boxes()
    await app.request_log.write()
    assert len((await list_requests(core, shop.tenant)).rows) >= 1


async def test_the_log_is_written_by_itself_every_second(core: Core, settings: Settings) -> None:
    app = make_app(open_core(settings), "memory://")
    shop = await open_shop(core, app)
    stop, started = asyncio.Event(), asyncio.Event()

    async def receive() -> dict[str, str]:
        if not started.is_set():
            return {"type": "lifespan.startup"}
        await stop.wait()
        return {"type": "lifespan.shutdown"}

    async def send(message: Any) -> None:
        if message["type"] == "lifespan.startup.complete":
            started.set()

    living = asyncio.create_task(app({"type": "lifespan", "state": {}}, receive, send))  # type: ignore[arg-type]
    await started.wait()
    async with shop.http:
        await shop.boxes()
        async with asyncio.timeout(5):
            while not (await list_requests(core, shop.tenant)).rows:  # noqa: ASYNC110 - it is written beside us
                await asyncio.sleep(0.05)
        last = (await shop.boxes()).headers["x-request-id"]
    stop.set()
    await living
    assert (await find_requests(core, shop.tenant, last)).rows, "what was gathered last is written at the end"
