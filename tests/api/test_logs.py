"""Log lines: one per request with its id; never a PIN, a key or a customer's name."""

import io
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import structlog
from starlette.types import ASGIApp

from pickupbox.settings import Settings
from pickupbox.telemetry import start_logs
from tests.api.additions import SERVED
from tests.api.calls import call
from tests.api.places import away, served
from tests.support.shop import Shop, client_of, open_shop

type Lines = Callable[[], list[dict[str, Any]]]

NAME = "Augusta Ada King-Noel"


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lines]:
    """The lines that a process has written to standard error since they were last asked for."""
    standard_error = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stderr", standard_error)
    start_logs("debug")
    # A process keeps its logger for good; this one has many tests, each with a standard error of its own.
    structlog.configure(cache_logger_on_first_use=False)

    def new_lines() -> list[dict[str, Any]]:
        written = standard_error.buffer.getvalue()  # type: ignore[attr-defined]
        standard_error.buffer.seek(0)
        standard_error.buffer.truncate()
        return [json.loads(line) for line in written.splitlines()]

    yield new_lines
    structlog.reset_defaults()


async def test_every_request_writes_one_line_with_its_id(shop: Shop, app: ASGIApp, lines: Lines) -> None:
    shipment_id = await shop.reserved()
    lines()
    answers = []
    async with client_of(app) as stranger:
        for operation in SERVED:
            answers += [await call(shop, operation, shipment_id), await call(shop, operation, http=stranger)]
        answers += [await stranger.get("http://test/livez"), await stranger.get("/openapi.json")]
        answers += [await shop.http.get("/nothing"), await shop.http.get(f"/shipments/{'x' * 65}")]
    written = [line for line in lines() if line["event"] == "request"]
    assert [line["request_id"] for line in written] == [answer.headers["x-request-id"] for answer in answers]
    assert [line["status"] for line in written] == [answer.status_code for answer in answers]
    assert [(line["method"], line["path"]) for line in written] == [
        (answer.request.method, answer.request.url.path) for answer in answers
    ]


async def test_a_line_says_when_who_what_and_how_long(shop: Shop, lines: Lines) -> None:
    await shop.boxes()
    (line,) = lines()
    assert (line["tenant"], line["key"], line["operation"]) == (shop.tenant, shop.key_id, "list_boxes")
    assert line["level"] == "info"
    assert line["milliseconds"] > 0
    assert line["at"].endswith("Z")


async def test_no_line_holds_a_pin_a_key_or_a_name(shop: Shop, app: ASGIApp, lines: Lines) -> None:
    made = (await shop.reserve("order-1", customer_name=NAME)).json()
    pins = {made["pickup_pin"]}
    await shop.reserve("order-1", customer_name=NAME)
    await shop.reserve("order-1", await shop.add_box(), customer_name=NAME)
    await shop.reserve("", customer_name=NAME)
    await shop.pin(made["id"])
    for event in ("loaded", "fault", "removed"):
        await shop.simulate(made["id"], event)
    pins.add((await shop.retry(made["id"])).json()["pickup_pin"])
    await shop.cancel(made["id"])
    wrong_key = shop.api_key[:-1]
    async with client_of(app, wrong_key) as stranger:
        await stranger.get("/boxes", params={"api_key": shop.api_key})
    written = lines()
    assert len(written) == 11
    for line in written:
        # Ids, times and durations hold digits too, so a PIN is looked for as a value of its own.
        assert not pins & {str(value) for value in line.values()}
        assert NAME not in str(line)
        assert wrong_key not in str(line)


async def test_an_unexpected_error_is_explained_in_the_log_under_its_request_id(
    own_settings: Settings, lines: Lines
) -> None:
    answer = await _reserve_after(own_settings, "ALTER TABLE events RENAME COLUMN data TO other")
    assert answer.status_code == 500
    error = next(line for line in lines() if line["event"] == "unexpected_error")
    assert error["request_id"] == answer.headers["x-request-id"]
    assert error["level"] == "error"
    assert "UndefinedColumnError" in error["exception"]


async def test_an_unexpected_error_of_the_database_tells_no_name(own_settings: Settings, lines: Lines) -> None:
    """PostgreSQL's word on a broken constraint quotes the whole row."""
    answer = await _reserve_after(own_settings, f"ALTER TABLE shipments ADD CHECK (customer_name <> '{NAME}')")
    assert answer.status_code == 500
    written = lines()
    assert any(line["event"] == "unexpected_error" for line in written)
    assert NAME not in str(written)


async def test_a_database_that_is_away_is_explained_in_the_log(shop: Shop, settings: Settings, lines: Lines) -> None:
    async with away(settings) as app, client_of(app, shop.api_key) as client:
        answer = await client.get("/boxes")
    (why, request) = lines()
    assert (why["event"], why["level"]) == ("unavailable", "warning")
    assert why["request_id"] == request["request_id"] == answer.headers["x-request-id"]
    assert "ConnectionRefusedError" in why["cause"] or "OSError" in why["cause"]
    assert request["status"] == 503


async def _reserve_after(settings: Settings, change: str) -> httpx.Response:
    """The answer to a reservation that meets a database that was changed under it."""
    async with served(settings) as (core, app):
        shop = await open_shop(core, app)
        async with core.db.connection() as connection:
            await connection.execute(change)
        async with shop.http:
            return await shop.reserve("order-1", customer_name=NAME)
