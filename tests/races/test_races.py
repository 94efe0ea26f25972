"""Many at once, on two API processes and the real PostgreSQL: someone wins, everyone gets a true answer."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest
import pytest_asyncio
from starlette.types import ASGIApp

from pickupbox.settings import Settings
from pickupbox.usecases.check import check
from pickupbox.usecases.core import Core
from tests.support.processes import api_process
from tests.support.shop import Shop, open_shop

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def base_url(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log: Path = tmp_path_factory.mktemp("races") / "api.log"
    with api_process(settings, log, workers=2) as address:
        yield address


@pytest_asyncio.fixture
async def street_shop(core: Core, app: ASGIApp, base_url: str) -> AsyncIterator[Shop]:
    """A shop that calls the API's processes over the network, on many connections."""
    shop = await open_shop(core, app, compartments=40)
    http = httpx.AsyncClient(
        base_url=base_url,
        headers={"Authorization": f"Bearer {shop.api_key}"},
        limits=httpx.Limits(max_connections=200),
        timeout=60,
    )
    async with http:
        yield replace(shop, http=http)


async def assert_invariants(shop: Shop) -> None:
    assert not [finding for finding in await check(shop.core, shop.tenant) if finding.breaches]


async def test_2000_simultaneous_creates_on_40_compartments_make_exactly_40(street_shop: Shop, base_url: str) -> None:
    headers = {"Authorization": f"Bearer {street_shop.api_key}"}

    async def reserve(session: aiohttp.ClientSession, number: int) -> tuple[int, dict[str, Any]]:
        wish = {"box_id": street_shop.box_id, "external_order_id": f"order-{number}"}
        async with session.post(f"{base_url}/shipments", json=wish) as answer:
            return answer.status, await answer.json()

    # httpx takes minutes to hand 2,000 waiting requests to its connections.
    async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(limit=1000)) as session:
        answers = await asyncio.gather(*(reserve(session, number) for number in range(2000)))
    assert Counter(status for status, _ in answers) == {201: 40, 409: 1960}
    made = [body for status, body in answers if status == 201]
    assert len({body["compartment_code"] for body in made}) == 40
    assert len({body["pickup_pin"] for body in made}) == 40
    assert {body["error"]["code"] for status, body in answers if status == 409} == {"no_compartment_available"}
    await assert_invariants(street_shop)


@pytest.mark.parametrize("compartments", [1, 12])
async def test_50_parallel_identical_creates_are_one_shipment_with_one_pin(
    street_shop: Shop, compartments: int
) -> None:
    for number in range(10):
        box = await street_shop.add_box(compartments=compartments)
        answers = await asyncio.gather(*(street_shop.reserve(f"order-{number}", box) for _ in range(50)))
        assert Counter(answer.status_code for answer in answers) == {201: 50}
        assert len({(answer.json()["id"], answer.json()["pickup_pin"]) for answer in answers}) == 1
        assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 1
    await assert_invariants(street_shop)


async def test_50_parallel_creates_of_one_order_in_two_boxes_make_one(street_shop: Shop) -> None:
    boxes = [await street_shop.add_box(compartments=1), await street_shop.add_box(compartments=1)]
    answers = await asyncio.gather(*(street_shop.reserve("order", boxes[n % 2]) for n in range(50)))
    assert Counter(answer.status_code for answer in answers) == {201: 25, 409: 25}
    assert len({answer.json()["id"] for answer in answers if answer.status_code == 201}) == 1
    refused = {answer.json()["error"]["code"] for answer in answers if answer.status_code == 409}
    assert refused == {"external_order_conflict"}


async def test_parallel_callers_each_get_their_own_answer_also_beside_refused_ones(street_shop: Shop) -> None:
    full = await street_shop.add_box(compartments=1)
    await street_shop.reserved("first", box_id=full)
    orders = {f"order-{n}": full if n % 3 == 0 else street_shop.box_id for n in range(59)}
    answers = await asyncio.gather(*(street_shop.reserve(order, box) for order, box in orders.items()))
    for (order, box), answer in zip(orders.items(), answers, strict=True):
        if box == full:
            assert answer.json()["error"]["code"] == "no_compartment_available"
        else:
            assert (answer.json()["external_order_id"], answer.json()["box_id"]) == (order, box)
            assert (await street_shop.pin(answer.json()["id"])).json()["pickup_pin"] == answer.json()["pickup_pin"]


async def test_50_parallel_retries_are_one_new_attempt(street_shop: Shop) -> None:
    for number in range(10):
        box = await street_shop.add_box(compartments=1)
        faulted = await street_shop.reserved(f"order-{number}", "fault", "removed", box_id=box)
        answers = await asyncio.gather(*(street_shop.retry(faulted) for _ in range(50)))
        assert Counter(answer.status_code for answer in answers) == {201: 50}
        assert len({(answer.json()["id"], answer.json()["pickup_pin"]) for answer in answers}) == 1
        assert {answer.json()["attempt_number"] for answer in answers} == {2}
    await assert_invariants(street_shop)


async def test_parallel_creates_and_releases_never_lose_a_compartment(street_shop: Shop) -> None:
    """Boxes that are always nearly full: every compartment that was given back is found again."""
    box = await street_shop.add_box(compartments=3)

    async def come_and_go(caller: int) -> int:
        made = 0
        for number in range(20):
            answer = await street_shop.reserve(f"order-{caller}-{number}", box)
            if answer.status_code == 201:
                made += 1
                assert (await street_shop.cancel(answer.json()["id"])).status_code == 200
            else:
                assert answer.json()["error"]["code"] == "no_compartment_available"
        return made

    assert sum(await asyncio.gather(*(come_and_go(caller) for caller in range(10)))) > 0
    full = await asyncio.gather(*(street_shop.reserve(f"last-{number}", box) for number in range(3)))
    assert [answer.status_code for answer in full] == [201, 201, 201]
    await assert_invariants(street_shop)
