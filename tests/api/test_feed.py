"""GET /events: the pull side of the webhooks."""

import asyncio
from typing import Any

import httpx
import pytest
from prometheus_client import REGISTRY

from pickupbox.database import reservations
from pickupbox.webhooks.bodies import body_of
from tests.api.additions import ADDED_COMPONENTS
from tests.api.contract import breaches
from tests.api.feeds import by_shipment, ids, page, read_on, settled, stored
from tests.support.shop import Shop, asked

UNKNOWN_EVENT = "evt_c1_00000000000000000000000000000000"
LIVES = (
    (),
    ("loaded", "picked_up", "door_available"),
    ("fault", "removed"),
    ("loaded", "expired", "removed"),
    ("expired",),
)


async def live(shop: Shop) -> None:
    """Several shipments side by side, step by step in turn."""
    shipments = [(await shop.reserved(f"order-{number}"), list(life)) for number, life in enumerate(LIVES)]
    while any(life for _, life in shipments):
        for shipment_id, life in shipments:
            if life:
                await shop.simulate(shipment_id, life.pop(0))
    await settled(shop)


@pytest.mark.parametrize("limit", [1, 2, 7])
async def test_page_by_page_every_event_comes_once_and_in_the_same_order(shop: Shop, limit: int) -> None:
    await live(shop)
    everything = await read_on(shop)
    assert len(everything) == 16
    assert await read_on(shop, limit=limit) == everything
    assert by_shipment(everything) == await stored(shop)


async def test_a_page_has_exactly_its_fields_and_each_item_the_bytes_of_its_webhook(shop: Shop) -> None:
    await shop.reserved('"quoted" é 📦', "loaded", "picked_up", customer_name="Ada")
    await settled(shop)
    async with shop.core.db.connection() as connection:
        rows = await connection.fetch(
            "SELECT id, type, occurred_at, data FROM events WHERE tenant_id = $1 ORDER BY sequence", shop.tenant
        )
    answer = await page(shop)
    assert answer.headers["content-type"] == "application/json"
    assert breaches(answer.json(), "PublicEventListResponse", ADDED_COMPONENTS) == []
    bodies = [body_of(*row.values()) for row in rows]
    assert answer.content == b'{"items":[' + b",".join(bodies) + b'],"has_more":false}'
    assert [item["type"] for item in answer.json()["items"]] == ["reserved", "loaded", "picked_up"]


async def test_whoever_is_at_the_end_gets_nothing_and_later_what_is_new(shop: Shop) -> None:
    assert (await page(shop)).json() == {"items": [], "has_more": False}
    shipment_id = await shop.reserved()
    await settled(shop)
    (first,) = await read_on(shop)
    assert (await page(shop, first["id"])).json() == {"items": [], "has_more": False}
    await shop.cancel(shipment_id)
    await settled(shop)
    assert [event["type"] for event in await read_on(shop, first["id"])] == ["cancelled", "door_available"]


async def test_a_page_has_100_items_unless_asked_otherwise_and_says_whether_there_are_more(shop: Shop) -> None:
    box = await shop.add_box(101)
    await asyncio.gather(*(shop.reserve(f"order-{number}", box) for number in range(101)))
    await settled(shop)
    answers = [(await page(shop, limit=limit)).json() for limit in (None, 100, 101, 1000)]
    assert [(len(answer["items"]), answer["has_more"]) for answer in answers] == [
        (100, True),
        (100, True),
        (101, False),
        (101, False),
    ]


async def test_events_of_others_never_show_and_their_ids_are_unknown(shop: Shop, other_shop: Shop) -> None:
    await shop.reserved("mine")
    theirs = await other_shop.reserved("theirs", "loaded", "picked_up")
    await settled(shop)
    await settled(other_shop)
    assert theirs not in (await page(shop)).text
    assert [event["data"]["external_order_id"] for event in await read_on(shop)] == ["mine"]
    answers = [await page(shop, event["id"]) for event in await read_on(other_shop)]
    answers.append(await page(shop, UNKNOWN_EVENT))
    bodies = {answer.text.replace(answer.headers["x-request-id"], "") for answer in answers}
    assert len(answers) == 4
    assert len(bodies) == 1
    assert (answers[0].status_code, answers[0].json()["error"]["code"]) == (404, "event_not_found")
    assert breaches(answers[0].json(), "PublicErrorResponse") == []


BAD: list[tuple[str, dict[str, str]]] = [
    ("limit=0", {"limit": "greater_than_equal"}),
    ("limit=1001", {"limit": "less_than_equal"}),
    ("limit=-1", {"limit": "int_parsing"}),
    ("limit=", {"limit": "int_parsing"}),
    ("limit", {"limit": "int_parsing"}),
    ("limit=ten", {"limit": "int_parsing"}),
    ("limit=%2B7", {"limit": "int_parsing"}),
    ("limit=+7", {"limit": "int_parsing"}),
    ("limit=7.0", {"limit": "int_parsing"}),
    ("limit=1_0", {"limit": "int_parsing"}),
    ("limit=%D9%A3", {"limit": "int_parsing"}),
    (f"limit={'9' * 5000}", {"limit": "int_parsing_size"}),
    ("after=", {"after": "string_too_short"}),
    (f"after={'x' * 65}", {"after": "string_too_long"}),
    ("after=a%00", {"after": "string_pattern_mismatch"}),
    ("after=a%0A", {"after": "string_pattern_mismatch"}),
    ("after=a%7F", {"after": "string_pattern_mismatch"}),
    ("after=%FF", {"after": "string_unicode"}),
    ("before=x", {"before": "extra_forbidden"}),
    ("Limit=1", {"Limit": "extra_forbidden"}),
    ("%FF=x", {"?": "extra_forbidden"}),
    ("=x", {"": "extra_forbidden"}),
    ("limit=1&limit=1", {"limit": "repeated"}),
    ("after=a&limit=1&after=a", {"after": "repeated"}),
    (
        "after=&limit=0&other=1",
        {"after": "string_too_short", "limit": "greater_than_equal", "other": "extra_forbidden"},
    ),
]


@pytest.mark.parametrize(("query", "expected"), BAD, ids=[query[:30] for query, _ in BAD])
async def test_a_bad_query_is_refused_with_every_rule_that_it_breaks(
    shop: Shop, query: str, expected: dict[str, str]
) -> None:
    answer = await shop.http.get(httpx.URL("http://test/v1/events", query=query.encode()))
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "validation_failed")
    assert breaches(answer.json(), "PublicErrorResponse") == []
    details: list[dict[str, Any]] = answer.json()["error"]["details"]
    assert [detail["loc"] for detail in details] == [["query", name] for name in expected]
    assert [detail["type"] for detail in details] == list(expected.values())
    assert all(set(detail) == {"loc", "msg", "type"} for detail in details)


@pytest.mark.parametrize("after", ["x", "x" * 64, " ", "é", "📦", "'; --", "%", "a&b", "\ufffd"])
async def test_an_id_that_is_only_strange_is_not_found(shop: Shop, after: str) -> None:
    answer = await page(shop, after)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "event_not_found")


async def test_an_event_whose_turn_has_not_come_is_known_and_nothing_follows_it(shop: Shop) -> None:
    """Its webhook may have arrived while an older transaction is still running."""
    async with shop.core.db.transaction() as older:
        await older.fetchval("SELECT pg_current_xact_id()::text")
        shipment_id = await shop.reserved()
        (event_id,) = (await stored(shop))[shipment_id]
        assert (await page(shop)).json()["items"] == []
        assert (await page(shop, event_id)).json() == {"items": [], "has_more": False}
    await settled(shop)
    assert ids(await read_on(shop)) == [event_id]


async def test_what_was_taken_back_is_not_told(shop: Shop) -> None:
    async with shop.core.db.connection() as connection:
        given_up = connection.transaction()
        await given_up.start()
        assert await reservations.insert_many(connection, [asked(shop, "given up", shop.box_id)]) != [None]
        await given_up.rollback()
    await shop.reserved("kept")
    await settled(shop)
    assert [event["data"]["external_order_id"] for event in await read_on(shop)] == ["kept"]


async def test_reading_is_counted_and_logged_as_an_operation_of_its_own(shop: Shop) -> None:
    def counted() -> float:
        labels = {"operation": "list_events", "status": "200"}
        return REGISTRY.get_sample_value("pickupbox_request_seconds_count", labels) or 0

    before = counted()
    await page(shop)
    assert counted() == before + 1
