"""POST /shipments: the type and the bounds of every field, and what is not a request at all."""

from typing import Any

import pytest

from tests.api.contract import breaches
from tests.api.stored import rows_of
from tests.support.shop import Shop

OMITTED = object()


async def sent(shop: Shop, **fields: Any) -> Any:
    body = {"box_id": shop.box_id, "external_order_id": "order-1"} | fields
    return await shop.http.post("/shipments", json={k: v for k, v in body.items() if v is not OMITTED})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("external_order_id", "x"),
        ("external_order_id", "x" * 160),
        ("external_order_id", "é" * 160),
        ("external_order_id", "📦" * 160),
        ("external_order_id", " "),
        ("external_order_id", "a/b?c#d%e\n"),
        ("customer_name", None),
        ("customer_name", ""),
        ("customer_name", "x" * 160),
        ("customer_name", "📦" * 160),
        ("reservation_ttl_minutes", None),
        ("reservation_ttl_minutes", 15),
        ("reservation_ttl_minutes", 16),
        ("reservation_ttl_minutes", 10079),
        ("reservation_ttl_minutes", 10080),
        ("pickup_ttl_minutes", None),
        ("pickup_ttl_minutes", 60),
        ("pickup_ttl_minutes", 61),
        ("pickup_ttl_minutes", 43199),
        ("pickup_ttl_minutes", 43200),
    ],
)
async def test_a_value_within_its_bounds_is_taken(shop: Shop, field: str, value: object) -> None:
    answer = await sent(shop, **{field: value})
    assert answer.status_code == 201
    assert answer.json().get(field, value) == value


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("box_id", OMITTED, "missing"),
        ("box_id", None, "string_type"),
        ("box_id", 7, "string_type"),
        ("box_id", "", "string_too_short"),
        ("box_id", "x" * 65, "string_too_long"),
        ("external_order_id", OMITTED, "missing"),
        ("external_order_id", None, "string_type"),
        ("external_order_id", 7, "string_type"),
        ("external_order_id", ["order-1"], "string_type"),
        ("external_order_id", "", "string_too_short"),
        ("external_order_id", "x" * 161, "string_too_long"),
        ("external_order_id", "a\x00b", "value_error"),
        ("customer_name", 7, "string_type"),
        ("customer_name", "x" * 161, "string_too_long"),
        ("customer_name", "📦" * 161, "string_too_long"),
        ("customer_name", "\x00", "value_error"),
        ("reservation_ttl_minutes", 14, "greater_than_equal"),
        ("reservation_ttl_minutes", 10081, "less_than_equal"),
        ("reservation_ttl_minutes", -15, "greater_than_equal"),
        ("reservation_ttl_minutes", 15.5, "int_type"),
        ("reservation_ttl_minutes", "15", "int_type"),
        ("reservation_ttl_minutes", True, "int_type"),
        ("pickup_ttl_minutes", 59, "greater_than_equal"),
        ("pickup_ttl_minutes", 43201, "less_than_equal"),
        ("pickup_ttl_minutes", 10**30, "less_than_equal"),
        ("pickup_ttl_minutes", "60", "int_type"),
        ("pickup_ttl_minutes", [60], "int_type"),
        ("colour", "red", "extra_forbidden"),
        ("status", "loaded", "extra_forbidden"),
        ("attempt_number", 2, "extra_forbidden"),
    ],
)
async def test_a_value_outside_its_bounds_is_refused_and_reserves_nothing(
    shop: Shop, field: str, value: object, kind: str
) -> None:
    answer = await sent(shop, **{field: value})
    assert answer.status_code == 422
    assert breaches(answer.json(), "PublicErrorResponse") == []
    error = answer.json()["error"]
    assert error["code"] == "validation_failed"
    (problem,) = error["details"]
    assert (problem["loc"], problem["type"]) == (["body", field], kind)
    assert set(problem) == {"loc", "msg", "type"}
    assert await rows_of(shop.core, "shipments", shop.tenant, "") == []


async def test_a_box_id_of_64_characters_is_looked_up_and_not_found(shop: Shop) -> None:
    assert (await sent(shop, box_id="x" * 64)).status_code == 404
    assert (await sent(shop, box_id="x")).status_code == 404


async def test_every_broken_rule_is_told_at_once(shop: Shop) -> None:
    answer = await sent(shop, box_id="", external_order_id="", pickup_ttl_minutes=0, colour="red")
    assert [problem["loc"][1] for problem in answer.json()["error"]["details"]] == [
        "box_id",
        "external_order_id",
        "pickup_ttl_minutes",
        "colour",
    ]


async def test_what_was_sent_is_not_sent_back(shop: Shop) -> None:
    answer = await sent(shop, customer_name="Ada Lovelace" * 20)
    assert answer.status_code == 422
    assert "Ada" not in answer.text


@pytest.mark.parametrize("body", ["[]", '"text"', "7", "null", "true"])
async def test_json_that_is_no_object_breaks_the_schema(shop: Shop, body: str) -> None:
    answer = await shop.http.post("/shipments", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "validation_failed")


NOT_JSON = [b"", b" ", b"{", b"order", b'{"box_id": }', b"{}{}", b"\xff\xfe", b'{"box_id": "\xff"}', b"{'a': 1}"]


@pytest.mark.parametrize("body", [*NOT_JSON, b'{"a": NaN}', b'{"reservation_ttl_minutes": -Infinity}'])
async def test_a_body_that_is_not_json_is_an_invalid_request(shop: Shop, body: bytes) -> None:
    answer = await shop.http.post("/shipments", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")
    assert breaches(answer.json(), "PublicErrorResponse") == []


async def test_a_lone_surrogate_is_no_text_and_is_refused(shop: Shop) -> None:
    body = f'{{"box_id": "{shop.box_id}", "external_order_id": "\\ud800"}}'
    answer = await shop.http.post("/shipments", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 201),
        ("application/json; charset=utf-8", 201),
        ("Application/JSON", 201),
        ("text/plain", 400),
        ("application/x-www-form-urlencoded", 400),
        ("multipart/form-data; boundary=x", 400),
    ],
)
async def test_only_json_is_taken(shop: Shop, content_type: str, status: int) -> None:
    body = f'{{"box_id": "{shop.box_id}", "external_order_id": "order-1"}}'
    answer = await shop.http.post("/shipments", content=body, headers={"content-type": content_type})
    assert answer.status_code == status


async def test_a_body_of_64_kib_is_read_and_a_larger_one_is_not(shop: Shop) -> None:
    body = f'{{"box_id": "{shop.box_id}", "external_order_id": "order-1"}}'
    json_header = {"content-type": "application/json"}
    larger = await shop.http.post("/shipments", content=body.ljust(64 * 1024 + 1), headers=json_header)
    assert (larger.status_code, larger.json()["error"]["code"]) == (400, "invalid_request")
    assert await rows_of(shop.core, "shipments", shop.tenant, "") == []
    at_limit = await shop.http.post("/shipments", content=body.ljust(64 * 1024), headers=json_header)
    assert at_limit.status_code == 201
