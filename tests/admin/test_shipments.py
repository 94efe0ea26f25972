"""The list of shipments: newest first, by cursor, by status, compartment state, box and order."""

import re

import pytest

from pickupbox.database import shipment_lists
from pickupbox.domain.lifecycle import FACES, Stage
from pickupbox.domain.roles import Role
from pickupbox.usecases.shipment_lists import list_shipments
from tests.admin.office import Office, Person
from tests.support.shop import Shop

ALL = set(Stage)


def orders(html: str) -> list[str]:
    return re.findall(r'class="order" href="/shipments/[^"]+">([^<]+)<', html)


async def listed(person: Person, query: str = "") -> list[str]:
    answer = await person.get(f"/shipments{query}")
    assert answer.status_code == 200
    return orders(answer.text)


async def walk(shop: Shop, stages: set[Stage], box_id: str | None = None, limit: int = 3) -> list[str]:
    """All orders of a list, page by page."""
    found: list[str] = []
    before = None
    while True:
        page = await list_shipments(shop.core, shop.tenant, stages, box_id, before, limit)
        assert len(page.shipments) <= limit
        found += [one.shipment.external_order_id for one in page.shipments]
        if page.after is None or len(found) > 100:
            return found
        before = page.after


async def test_pages_follow_each_other_without_gap_or_repetition_over_all_stages(shop: Shop, other_shop: Shop) -> None:
    journeys: list[tuple[str, ...]] = [
        (),
        ("loaded",),
        ("expired",),
        ("fault",),
        ("loaded", "picked_up"),
        ("loaded", "picked_up", "door_available"),
        ("loaded", "fault", "removed"),
        (),
    ]
    for number, journey in enumerate(journeys):
        await shop.reserved(f"order-{number}", *journey)
        await other_shop.reserved(f"order-{number}", *journey)
    newest_first = [f"order-{number}" for number in reversed(range(8))]
    for limit in (1, 3, 7, 8, 9):
        assert await walk(shop, ALL, limit=limit) == newest_first


async def test_a_list_of_one_box_has_only_its_shipments_and_says_how_far_it_looked(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await shop.add_box()
    for number in range(6):
        await shop.reserved(f"order-{number}", box_id=other if number in (0, 4) else shop.box_id)
    assert await walk(shop, ALL, other) == ["order-4", "order-0"]
    monkeypatch.setattr(shipment_lists, "LOOKED_THROUGH", 2)
    assert await walk(shop, ALL, other) == ["order-4", "order-0"]
    page = await list_shipments(shop.core, shop.tenant, ALL, other, None)
    assert [one.shipment.external_order_id for one in page.shipments] == ["order-4"]
    assert page.back_to is not None


async def test_filters_show_exactly_what_they_say(office: Office) -> None:
    shop, person = office.shop, await office.sign_in(Role.VIEWER)
    await shop.reserved("plain")
    await shop.reserved("inside", "loaded")
    await shop.reserved("broken", "fault")
    await shop.reserved("cleared", "fault", "removed")
    await shop.reserved("cooling", "loaded", "picked_up")
    assert await listed(person) == ["cooling", "cleared", "broken", "inside", "plain"]
    assert await listed(person, "?status=fault") == ["cleared", "broken"]
    assert await listed(person, "?state=awaiting_removal") == ["broken"]
    assert await listed(person, "?status=fault&state=available") == ["cleared"]
    assert await listed(person, "?status=reserved&state=cooldown") == []
    assert await listed(person, "?status=nonsense") == ["cooling", "cleared", "broken", "inside", "plain"]


async def test_an_order_is_found_with_all_its_attempts_and_a_shipment_by_its_id(office: Office) -> None:
    shop, person = office.shop, await office.sign_in(Role.OPERATOR)
    first = await shop.reserved("A-1001", "fault", "removed")
    await shop.retry(first)
    await shop.reserved("A-1002")
    assert await listed(person, "?q=A-1001") == ["A-1001", "A-1001"]
    assert await listed(person, "?q=A-100") == []
    answer = await person.get(f"/shipments?q={first}")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/shipments/{first}")


async def test_what_belongs_to_another_tenant_is_nowhere(office: Office, other_shop: Shop) -> None:
    theirs = await other_shop.reserved("theirs")
    person = await office.sign_in(Role.OWNER)
    assert await listed(person) == []
    assert await listed(person, "?q=theirs") == []
    assert await listed(person, f"?q={theirs}") == []
    assert (await person.get(f"/shipments?box={other_shop.box_id}")).status_code == 404
    assert (await person.get(f"/shipments/{theirs}")).status_code == 404


async def test_a_page_of_fifty_leads_on_to_the_next(office: Office) -> None:
    shop, person = office.shop, await office.sign_in(Role.VIEWER)
    box = await shop.add_box(compartments=60)
    for number in range(53):
        await shop.reserve(f"order-{number}", box)
    first = (await person.get("/shipments")).text
    assert len(orders(first)) == 50
    (next_url,) = re.findall(r'href="(/shipments\?before=[^"]+)"', first)
    second = (await person.get(next_url)).text
    assert orders(second) == ["order-2", "order-1", "order-0"]
    assert "data-more" not in second


@pytest.mark.parametrize("language", ["en", "de"])
async def test_the_list_speaks_in_words_at_every_stage(office: Office, language: str) -> None:
    shop, person = office.shop, await office.sign_in(Role.VIEWER)
    await shop.reserved("A", "loaded")
    text = (await person.get("/shipments", **{"Accept-Language": language})).text
    assert {"en": "Protected until", "de": "Geschützt bis"}[language] in text
    assert set(FACES) == ALL


async def test_an_empty_list_says_what_to_do_next(office: Office) -> None:
    assert 'href="/lab"' in (await (await office.sign_in(Role.OPERATOR)).get("/shipments")).text
    assert "No shipments yet" in (await (await office.sign_in(Role.VIEWER)).get("/shipments")).text


async def test_what_a_customer_is_called_is_shown_as_text_and_never_as_markup(office: Office) -> None:
    person = await office.sign_in(Role.VIEWER)
    await office.shop.reserved("<b>A</b>", customer_name="<script>alert(1)</script>")
    text = (await person.get("/shipments")).text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "&lt;b&gt;A" in text
