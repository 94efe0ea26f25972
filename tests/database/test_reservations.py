"""Many reservations in one statement: each has its own outcome."""

from pickupbox.database import reservations
from tests.support.shop import Shop, asked


async def test_every_reservation_of_a_batch_gets_its_own_outcome(shop: Shop) -> None:
    full = await shop.add_box(compartments=1)
    await shop.reserved("first", box_id=full)
    batch = [asked(shop, order, full if order == "refused" else shop.box_id) for order in ("c", "refused", "a", "b")]
    async with shop.core.db.connection() as connection:
        outcomes = await reservations.insert_many(connection, batch)
    assert [made and made.external_order_id for made in outcomes] == ["c", None, "a", "b"]
    assert [made and made.id for made in outcomes] == [
        made and a.shipment_id for a, made in zip(batch, outcomes, strict=True)
    ]
