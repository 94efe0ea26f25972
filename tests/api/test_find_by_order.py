"""GET /shipments?external_order_id=: the attempts of an order."""

import httpx
import pytest
from prometheus_client import REGISTRY

from tests.api.additions import ADDED_COMPONENTS
from tests.api.contract import breaches
from tests.support.shop import Shop


async def find(shop: Shop, order: str) -> httpx.Response:
    return await shop.http.get("/shipments", params={"external_order_id": order})


async def test_all_attempts_of_an_order_come_in_their_order_as_they_are_now(shop: Shop) -> None:
    first = await shop.reserved("order-1", "fault", "removed", customer_name="Ada")
    second = (await shop.retry(first)).json()["id"]
    await shop.simulate(second, "fault")
    await shop.simulate(second, "removed")
    third = (await shop.retry(second)).json()["id"]
    await shop.reserved("order-2")
    answer = await find(shop, "order-1")
    assert answer.status_code == 200
    assert breaches(answer.json(), "PublicShipmentListResponse", ADDED_COMPONENTS) == []
    assert answer.json() == {"items": [(await shop.read(attempt)).json() for attempt in (first, second, third)]}
    assert [item["attempt_number"] for item in answer.json()["items"]] == [1, 2, 3]


async def test_the_pin_is_not_shown(shop: Shop) -> None:
    made = (await shop.reserve("order-1")).json()
    (item,) = (await find(shop, "order-1")).json()["items"]
    assert "pickup_pin" not in item
    assert made == item | {"pickup_pin": made["pickup_pin"]}


@pytest.mark.parametrize("order", ["order", "order-11", "ORDER-1", "order-1 ", "x" * 160, "%", "\ufffd"])
async def test_an_order_that_is_not_known_has_no_attempts(shop: Shop, order: str) -> None:
    await shop.reserved("order-1")
    answer = await find(shop, order)
    assert (answer.status_code, answer.json()) == (200, {"items": []})


@pytest.mark.parametrize(
    "order", ["x", "x" * 160, "📦" * 160, " ", "a b+c", "a&b=c", "é", "100%", "a\nb", "\x7f", "#1?", "ä/ö"]
)
async def test_an_order_is_found_by_whatever_it_was_reserved_with(shop: Shop, order: str) -> None:
    shipment_id = await shop.reserved(order)
    (item,) = (await find(shop, order)).json()["items"]
    assert (item["id"], item["external_order_id"]) == (shipment_id, order)


async def test_orders_of_others_are_not_known(shop: Shop, other_shop: Shop) -> None:
    await other_shop.reserved("order-1")
    assert (await find(shop, "order-1")).json() == {"items": []}
    mine = await shop.reserved("order-1")
    assert [item["id"] for item in (await find(shop, "order-1")).json()["items"]] == [mine]


BAD = [
    ("", "external_order_id", "missing"),
    ("external_order_id=", "external_order_id", "string_too_short"),
    ("external_order_id", "external_order_id", "string_too_short"),
    (f"external_order_id={'x' * 161}", "external_order_id", "string_too_long"),
    (f"external_order_id={'%F0%9F%93%A6' * 161}", "external_order_id", "string_too_long"),
    ("external_order_id=a%00", "external_order_id", "string_pattern_mismatch"),
    ("external_order_id=%FF", "external_order_id", "string_unicode"),
    ("external_order_id=%ED%A0%80", "external_order_id", "string_unicode"),
    ("external_order_id=a&external_order_id=a", "external_order_id", "repeated"),
    ("external_order_id=a&limit=1", "limit", "extra_forbidden"),
]


@pytest.mark.parametrize(("query", "name", "rule"), BAD, ids=[query[:40] for query, _, _ in BAD])
async def test_a_bad_query_is_refused(shop: Shop, query: str, name: str, rule: str) -> None:
    answer = await shop.http.get(httpx.URL("http://test/v1/shipments", query=query.encode()))
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "validation_failed")
    assert breaches(answer.json(), "PublicErrorResponse") == []
    (detail,) = answer.json()["error"]["details"]
    assert (detail["loc"], detail["type"]) == (["query", name], rule)
    assert set(detail) == {"loc", "msg", "type"}


async def test_the_path_has_both_of_its_methods_each_counted_by_its_own_name(shop: Shop) -> None:
    def counted(operation: str, status: int) -> float:
        labels = {"operation": operation, "status": str(status)}
        return REGISTRY.get_sample_value("pickupbox_request_seconds_count", labels) or 0

    def both() -> list[float]:
        return [counted("create_shipment", 201), counted("find_shipments", 200)]

    before = both()
    made = await shop.reserve("order-1")
    found = await find(shop, "order-1")
    assert (made.status_code, found.status_code) == (201, 200)
    assert [after - then for after, then in zip(both(), before, strict=True)] == [1, 1]
    other = await shop.http.delete("/shipments")
    assert (other.status_code, other.headers["allow"]) == (405, "GET, HEAD, POST")
