"""GET /boxes."""

from pickupbox.database import boxes
from pickupbox.usecases.boxes import add_box, default_setup
from tests.api.contract import breaches
from tests.support.shop import Shop


async def test_boxes_have_exactly_the_fields_of_the_contract(shop: Shop) -> None:
    bare = await add_box(shop.core, shop.tenant, default_setup(shop.core, "Bare"), 1)
    answer = await shop.boxes()
    assert answer.status_code == 200
    assert breaches(answer.json(), "PublicBoxListResponse") == []
    assert answer.json()["items"] == [
        {"id": bare, "name": "Bare", "location_name": None, "address": None},
        {"id": shop.box_id, "name": "Test box", "location_name": "Here", "address": "Test street 1"},
    ]


async def test_only_active_boxes_are_listed(shop: Shop) -> None:
    box = await shop.add_box()
    assert {item["id"] for item in (await shop.boxes()).json()["items"]} == {box, shop.box_id}
    async with shop.core.db.connection() as connection:
        assert await boxes.set_active(connection, shop.tenant, box, active=False)
    assert [item["id"] for item in (await shop.boxes()).json()["items"]] == [shop.box_id]


async def test_only_the_tenants_own_boxes_are_listed(shop: Shop, other_shop: Shop) -> None:
    assert [item["id"] for item in (await shop.boxes()).json()["items"]] == [shop.box_id]
    assert [item["id"] for item in (await other_shop.boxes()).json()["items"]] == [other_shop.box_id]


async def test_a_tenant_without_boxes_gets_an_empty_list(shop: Shop) -> None:
    async with shop.core.db.connection() as connection:
        assert await boxes.set_active(connection, shop.tenant, shop.box_id, active=False)
    answer = await shop.boxes()
    assert (answer.status_code, answer.json()) == (200, {"items": []})


async def test_a_listed_id_can_be_reserved_in_and_stays_the_same(shop: Shop) -> None:
    (item,) = (await shop.boxes()).json()["items"]
    assert (await shop.reserve("order-1", item["id"])).json()["box_id"] == item["id"]
    assert (await shop.boxes()).json()["items"] == [item]


async def test_a_full_box_is_still_listed(shop: Shop) -> None:
    box = await shop.add_box(compartments=1)
    await shop.reserve("order-1", box)
    assert box in {item["id"] for item in (await shop.boxes()).json()["items"]}
