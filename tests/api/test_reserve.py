"""POST /shipments."""

import asyncio

from tests.support.shop import Shop


async def test_a_new_reservation_is_reserved_with_a_pin_and_no_times(shop: Shop) -> None:
    answer = await shop.reserve("order-1", customer_name="Ada")
    body = answer.json()
    assert answer.status_code == 201
    assert (body["status"], body["compartment_state"], body["pickup_enabled"]) == ("reserved", "reserved", False)
    assert (body["attempt_number"], body["retry_of_shipment_id"]) == (1, None)
    assert [body[name] for name in ("loaded_at", "pickup_available_at", "pickup_expires_at", "picked_up_at")] == [
        None
    ] * 4
    assert len(body["pickup_pin"]) == 6
    assert body["pickup_pin"].isdigit()
    assert "idempotent-replayed" not in answer.headers


async def test_two_orders_never_share_a_compartment(shop: Shop) -> None:
    box = await shop.add_box(compartments=1)
    answers = await asyncio.gather(shop.reserve("A", box), shop.reserve("B", box))
    assert sorted(answer.status_code for answer in answers) == [201, 409]
