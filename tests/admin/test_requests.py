"""The page of requests: what keys asked of the API, found by id, by key and by status."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from pickupbox.api.app import make_app
from pickupbox.api.entrance import Entrance
from pickupbox.usecases.core import Core
from tests.admin.integrations import administrator, words
from tests.admin.office import Office
from tests.admin.people import run
from tests.support.shop import Shop, open_shop


@pytest_asyncio.fixture
async def calls(core: Core) -> AsyncIterator[tuple[Shop, Entrance]]:
    """A shop that calls an API of its own, whose log is written when the test says so."""
    app = make_app(core, "memory://")
    shop = await open_shop(core, app)
    async with shop.http:
        yield shop, app


async def test_before_the_first_call_the_page_says_how_to_make_one(office: Office) -> None:
    page = await (await administrator(office)).get("/requests")
    assert "No request yet" in page.text
    assert "curl" in page.text


async def test_requests_are_shown_newest_first_and_found_by_id_key_and_status(
    office: Office, calls: tuple[Shop, Entrance]
) -> None:
    shop, api = calls
    good = (await shop.boxes()).headers["x-request-id"]
    bad = (await shop.read("shp_c1_none")).headers["x-request-id"]
    await api.request_log.write()
    person = await administrator(Office(office.core, office.app, shop, office.people))
    page = (await person.get("/requests")).text
    assert page.index(bad) < page.index(good)
    assert "shipment_not_found" in page
    assert "GET /v1/shipments/shp_c1_none" in words(page)
    for query, found, missing in (
        (f"id={good}", good, bad),
        ("status=4xx", bad, good),
        ("status=2xx", good, bad),
        ("status=errors", bad, good),
    ):
        filtered = (await person.get(f"/requests?{query}")).text
        assert found in filtered, query
        assert missing not in filtered, query
    assert good in (await person.get(f"/requests?key={shop.key_id}")).text
    assert "No such request" in (await person.get("/requests?id=req_none")).text
    assert "None of these" in (await person.get("/requests?status=5xx")).text


async def test_what_others_asked_is_not_shown(office: Office, calls: tuple[Shop, Entrance]) -> None:
    shop, api = calls
    theirs = (await shop.boxes()).headers["x-request-id"]
    await api.request_log.write()
    person = await administrator(office)
    for query in ("", f"?id={theirs}", f"?key={shop.key_id}"):
        assert shop.key_id not in (await person.get(f"/requests{query}")).text
        assert "/v1/boxes" not in (await person.get(f"/requests{query}")).text


@pytest.mark.parametrize("query", ["id=%00", "after=%00", "after=x~y", "status=<script>", "id=" + "x" * 500, "key=%ff"])
async def test_a_query_that_makes_no_sense_is_answered_all_the_same(office: Office, query: str) -> None:
    answer = await (await administrator(office)).get(f"/requests?{query}")
    assert answer.status_code == 200
    assert "<script>" not in answer.text.replace("<script src", "")


async def test_pages_go_on_where_the_one_before_ended(office: Office, shop: Shop) -> None:
    statement = """
        INSERT INTO api_requests SELECT now() - n * interval '1 ms', $1, $2, 'req_' || n, 'list_boxes', 'GET',
            '/v1/boxes', 200, NULL, 1, NULL FROM generate_series(1, 120) AS n RETURNING true
    """
    await run(shop.core, statement, shop.tenant, shop.key_id)
    person = await administrator(office)
    found: list[str] = []
    path = "/requests"
    for _ in range(3):
        page = (await person.get(path)).text
        found += [part.partition("<")[0] for part in page.split('"mono">req_')[1:]]
        path = page.partition('hx-get="')[2].partition('"')[0].replace("&amp;", "&")
    assert found == [str(n) for n in range(1, 121)]
    assert path == ""
