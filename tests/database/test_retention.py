"""Customers' names are erased 30 days after the release, and not before."""

from pickupbox.usecases.core import Core
from pickupbox.usecases.retention import erase_names
from tests.support.databases import elapse
from tests.support.shop import Shop

DAY = 86_400


async def name_of(shop: Shop, shipment_id: str) -> str | None:
    name: str | None = (await shop.read(shipment_id)).json()["customer_name"]
    return name


async def test_a_name_is_erased_30_days_after_the_release_and_not_before(shop: Shop, core: Core) -> None:
    due = await shop.reserved("A", "expired", customer_name="Ada")
    early = await shop.reserved("B", "expired", customer_name="Grace")
    await elapse(core, due, 30 * DAY + 1)
    await elapse(core, early, 30 * DAY - 60)
    await erase_names(core, 1000)
    assert await name_of(shop, due) is None
    assert await name_of(shop, early) == "Grace"


async def test_a_name_stays_while_the_compartment_is_held(shop: Shop, core: Core) -> None:
    held = await shop.reserved("A", "loaded", "expired", customer_name="Ada")
    await elapse(core, held, 90 * DAY)
    await erase_names(core, 1000)
    assert await name_of(shop, held) == "Ada"


async def test_names_are_erased_in_batches_and_nothing_else_changes(shop: Shop, core: Core) -> None:
    await erase_names(core, 1000)
    shipments = [await shop.reserved(order, "expired", customer_name="Ada") for order in "ABC"]
    for shipment in shipments:
        await elapse(core, shipment, 31 * DAY)
    before = [(await shop.read(shipment)).json() for shipment in shipments]
    assert [await erase_names(core, 2), await erase_names(core, 2), await erase_names(core, 2)] == [2, 1, 0]
    after = [(await shop.read(shipment)).json() for shipment in shipments]
    assert after == [shipment | {"customer_name": None} for shipment in before]
