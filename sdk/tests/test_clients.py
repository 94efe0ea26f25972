"""Both clients against a real server on loopback: what they send, what they return, what they repeat."""

import asyncio
import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from scripted import CREATED, SHIPMENT, Reply, Script, refusal

from pickupbox_sdk import (
    AsyncPickupbox,
    Box,
    ConnectionFailed,
    CreatedShipment,
    ExternalOrderConflict,
    InvalidApiKey,
    Pickupbox,
    PickupPin,
    Shipment,
    TemporarilyUnavailable,
    UnexpectedAnswer,
)

Do = Callable[..., Any]
KEY = "pbx_test_c1_key"


async def _at_once(_: float) -> None:
    return None


@pytest.fixture(params=["sync", "async"])
def do(request: pytest.FixtureRequest, script: Script) -> Do:
    """Make one call with a client of either kind; waits take no time."""

    def sync(name: str, *args: Any, base_url: str = "", options: dict[str, Any] | None = None, **kwargs: Any) -> Any:
        slept: list[float] = []
        with Pickupbox(KEY, base_url or script.base_url, sleep=slept.append, **(options or {})) as shop:
            return getattr(shop, name)(*args, **kwargs)

    def waits(name: str, *args: Any, base_url: str = "", options: dict[str, Any] | None = None, **kwargs: Any) -> Any:
        async def main() -> Any:
            async with AsyncPickupbox(KEY, base_url or script.base_url, sleep=_at_once, **(options or {})) as shop:
                return await getattr(shop, name)(*args, **kwargs)

        return asyncio.run(main())

    return sync if request.param == "sync" else waits


BOX = {"id": "box_1", "name": "Central Station", "location_name": None, "address": "Somewhere 1"}
PIN = {"shipment_id": "shp_1", "pickup_pin": "135790"}
PAGE: dict[str, Any] = {"items": [], "has_more": False}


@pytest.mark.parametrize(
    ("call", "sent", "body", "status", "expected"),
    [
        (["list_boxes"], "GET /boxes", {"items": [BOX]}, 200, [Box(**BOX)]),
        (["get_shipment", "shp_1"], "GET /shipments/shp_1", SHIPMENT, 200, Shipment.from_json(SHIPMENT)),
        (["get_shipment", "a/b?c d"], "GET /shipments/a%2Fb%3Fc%20d", SHIPMENT, 200, Shipment.from_json(SHIPMENT)),
        (["get_pickup_pin", "shp_1"], "GET /shipments/shp_1/pickup-pin", PIN, 200, PickupPin("shp_1", "135790")),
        (["cancel_shipment", "shp_1"], "POST /shipments/shp_1/cancel", SHIPMENT, 200, Shipment.from_json(SHIPMENT)),
        (["retry_shipment", "shp_1"], "POST /shipments/shp_1/retry", CREATED, 201, CreatedShipment.from_json(CREATED)),
        (
            ["find_shipments", "order 1&2"],
            "GET /shipments?external_order_id=order+1%262",
            {"items": [SHIPMENT]},
            200,
            [Shipment.from_json(SHIPMENT)],
        ),
    ],
)
def test_a_call_is_sent_and_read(
    script: Script, do: Do, call: list[str], sent: str, body: Any, status: int, expected: Any
) -> None:
    script.replies = [Reply(status, body)]
    assert do(*call) == expected
    (asked,) = script.asked
    method, path = sent.split(" ")
    assert (asked.method, asked.path, asked.body) == (method, f"/v1{path}", b"")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["user-agent"].startswith("pickupbox-sdk/")


def test_a_create_sends_what_was_given_and_leaves_out_the_rest(script: Script, do: Do) -> None:
    script.replies = [Reply(201, CREATED)]
    do("create_shipment", "box_1", "order-1")
    do("create_shipment", "box_1", "é", customer_name="Ada", reservation_ttl_minutes=15, pickup_ttl_minutes=60)
    assert [json.loads(asked.body) for asked in script.asked] == [
        {"box_id": "box_1", "external_order_id": "order-1"},
        {
            "box_id": "box_1",
            "external_order_id": "é",
            "customer_name": "Ada",
            "reservation_ttl_minutes": 15,
            "pickup_ttl_minutes": 60,
        },
    ]
    assert script.asked[0].headers["content-type"] == "application/json"


def test_a_simulated_event_is_sent_and_read(script: Script, do: Do) -> None:
    script.replies = [Reply(200, SHIPMENT)]
    assert do("simulate_event", "shp_1", "loaded").id == "shp_1"
    assert (script.asked[0].path, script.asked[0].body) == ("/v1/sandbox/shipments/shp_1/events", b'{"event":"loaded"}')


def test_a_page_of_events_is_asked_for_by_the_last_one(script: Script, do: Do) -> None:
    script.replies = [Reply(200, PAGE)]
    assert do("list_events", "evt_1", 7).items == []
    assert script.asked[0].path == "/v1/events?after=evt_1&limit=7"


@pytest.mark.parametrize("header", [{}, {"Idempotent-Replayed": "true"}])
def test_a_replay_is_known_by_its_header(script: Script, do: Do, header: dict[str, str]) -> None:
    script.replies = [Reply(201, CREATED, header)]
    assert do("create_shipment", "box_1", "order-1").replayed is bool(header)


def test_a_lost_answer_and_a_busy_service_are_tried_again_with_the_same_request(script: Script, do: Do) -> None:
    busy = refusal("temporarily_unavailable", 503, retry_after="1")
    script.replies = [Reply(drop=True), busy, refusal("rate_limited", 429, retry_after="1"), Reply(201, CREATED)]
    assert do("create_shipment", "box_1", "order-1").id == "shp_1"
    assert len(script.asked) == 4
    assert len({(asked.method, asked.path, asked.body) for asked in script.asked}) == 1


def test_a_simulated_event_whose_answer_was_lost_is_not_repeated(script: Script, do: Do) -> None:
    script.replies = [Reply(drop=True), Reply(200, SHIPMENT)]
    with pytest.raises(ConnectionFailed):
        do("simulate_event", "shp_1", "loaded")
    assert len(script.asked) == 1


def test_what_stays_unavailable_is_raised(script: Script, do: Do) -> None:
    script.replies = [refusal("temporarily_unavailable", 503, retry_after="1")]
    with pytest.raises(TemporarilyUnavailable) as raised:
        do("get_shipment", "shp_1", options={"max_retries": 2})
    assert raised.value.retry_after == 1
    assert len(script.asked) == 3


def test_a_refusal_is_raised_with_its_details(script: Script, do: Do) -> None:
    script.replies = [refusal("external_order_conflict", 409, {"existing_shipment_id": "shp_2"})]
    with pytest.raises(ExternalOrderConflict) as raised:
        do("create_shipment", "box_1", "order-1")
    assert raised.value.details == {"existing_shipment_id": "shp_2"}
    assert len(script.asked) == 1


def test_a_wrong_key_is_raised_and_never_shown(script: Script, do: Do) -> None:
    script.replies = [refusal("invalid_api_key", 401)]
    with pytest.raises(InvalidApiKey) as raised:
        do("list_boxes")
    assert KEY not in repr(raised.value)


def test_a_redirect_is_not_followed(script: Script, do: Do) -> None:
    script.replies = [Reply(302, b"", {"Location": "/elsewhere"})]
    with pytest.raises(UnexpectedAnswer):
        do("list_boxes")
    assert len(script.asked) == 1


def test_a_page_of_a_proxy_is_unexpected(script: Script, do: Do) -> None:
    script.replies = [Reply(200, b"<html>", {"Content-Type": "text/html"})]
    with pytest.raises(UnexpectedAnswer, match="text/html"):
        do("list_boxes")


@pytest.mark.parametrize("call", [["list_boxes"], ["simulate_event", "shp_1", "loaded"]])
def test_nobody_there_is_tried_again_and_then_a_failed_connection(do: Do, call: list[str]) -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{found.getsockname()[1]}/v1"
    with pytest.raises(ConnectionFailed) as raised:
        do(*call, base_url=nobody, options={"max_retries": 2})
    assert raised.value.attempts == 3
    assert raised.value.__cause__ is not None


def test_a_server_that_says_nothing_is_given_up_after_the_timeout(do: Do) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        began = time.monotonic()
        with pytest.raises(ConnectionFailed):
            do("list_boxes", base_url=url, options={"timeout": 0.1, "max_retries": 0})
        assert time.monotonic() - began < 3


@pytest.mark.parametrize("shipment_id", ["", ".", ".."])
def test_an_id_that_would_be_another_path_never_leaves(script: Script, do: Do, shipment_id: str) -> None:
    for name in ("get_shipment", "get_pickup_pin", "cancel_shipment", "retry_shipment"):
        with pytest.raises(ValueError, match="not a shipment id"):
            do(name, shipment_id)
    assert script.asked == []


@pytest.mark.parametrize(("key", "url"), [("", "http://x/v1"), ("k", ""), ("k", "box.example/v1"), ("k", "http://")])
def test_a_client_without_a_key_or_an_address_is_not_made(key: str, url: str) -> None:
    for client in (Pickupbox, AsyncPickupbox):
        with pytest.raises(ValueError, match=r"api_key|base_url"):
            client(key, url)


def test_a_client_does_not_show_its_key() -> None:
    with Pickupbox(KEY, "http://127.0.0.1/v1") as shop:
        assert KEY not in f"{shop!r} {shop}"


def test_one_client_serves_many_threads(script: Script) -> None:
    script.replies = [Reply(200, SHIPMENT)]
    with Pickupbox(KEY, script.base_url) as shop, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(shop.get_shipment, ["shp_1"] * 64))
    assert {shipment.id for shipment in found} == {"shp_1"}
    assert len(script.asked) == 64
