"""What can be there only once, tried past the code."""

from typing import Any

from tests.database.rows import RELEASED, copy, copy_shipment, refused_by
from tests.support.shop import Shop


async def test_a_compartment_has_one_live_shipment(shop: Shop, raw: Any) -> None:
    first = await shop.reserved("A")
    async with refused_by(raw, "shipments_live_compartment"):
        await copy_shipment(raw, first)


async def test_a_released_shipment_leaves_its_compartment_to_others(shop: Shop, raw: Any) -> None:
    first = await shop.reserved("A")
    await copy_shipment(raw, first, **RELEASED)


async def test_a_held_compartment_is_not_free_for_another_shipment(shop: Shop, raw: Any) -> None:
    held = await shop.reserved("A", "fault")
    async with refused_by(raw, "shipments_live_compartment"):
        await copy_shipment(raw, held, stage="reserved", due_at="2031-01-01T00:00:00Z")


async def test_a_box_has_one_live_shipment_with_a_pin(shop: Shop, raw: Any) -> None:
    first = await shop.reserved("A")
    lookup = await raw.fetchval("SELECT pin_lookup::text FROM shipments WHERE id = $1", first)
    async with refused_by(raw, "shipments_live_pin"):
        await copy_shipment(raw, first, compartment_code="B6", pin_lookup=lookup)


async def test_a_released_shipment_leaves_its_pin_to_others(shop: Shop, raw: Any) -> None:
    first = await shop.reserved("A")
    lookup = await raw.fetchval("SELECT pin_lookup::text FROM shipments WHERE id = $1", first)
    await copy_shipment(raw, first, compartment_code="B6", pin_lookup=lookup, **RELEASED)


async def test_another_box_may_have_the_same_pin(shop: Shop, raw: Any) -> None:
    first = await shop.reserved("A")
    other = await shop.add_box(2)
    lookup = await raw.fetchval("SELECT pin_lookup::text FROM shipments WHERE id = $1", first)
    await copy_shipment(raw, first, box_id=other, pin_lookup=lookup)


async def test_a_tenant_has_an_order_and_attempt_once(shop: Shop, raw: Any) -> None:
    first = await shop.reserved("A")
    async with refused_by(raw, "shipments_order"):
        await copy_shipment(raw, first, external_order_id="A", compartment_code="B6")


async def test_another_tenant_may_have_the_same_order(shop: Shop, other_shop: Shop) -> None:
    await shop.reserved("A")
    assert (await other_shop.reserve("A")).status_code == 201


async def test_a_fault_has_one_retry(shop: Shop, raw: Any) -> None:
    faulted = await shop.reserved("A", "fault", "removed")
    second = (await shop.retry(faulted)).json()["id"]
    async with refused_by(raw, "shipments_one_retry"):
        await copy_shipment(raw, second, external_order_id="A", attempt_number=3, compartment_code="B6")


async def test_an_event_has_its_place_in_the_sequence_alone(shop: Shop, raw: Any) -> None:
    shipment = await shop.reserved("A")
    event = await raw.fetchval("SELECT id FROM events WHERE shipment_id = $1", shipment)
    partition = await raw.fetchval("SELECT tableoid::regclass::text FROM events WHERE id = $1", event)
    async with refused_by(raw, f"{partition}_pkey"):
        await copy(raw, "events", event, id="evt_copy")


async def test_two_keys_of_one_name_live_at_a_time_and_no_third(shop: Shop, raw: Any) -> None:
    await copy(raw, "api_keys", shop.key_id, id="key_2", slot=2, hmac="\\x02")
    for slot in (1, 2):
        async with refused_by(raw, "api_keys_live"):
            await copy(raw, "api_keys", shop.key_id, id="key_3", slot=slot, hmac="\\x03")
    async with refused_by(raw, "api_keys_slot_check"):
        await copy(raw, "api_keys", shop.key_id, id="key_3", slot=3, hmac="\\x03")


async def test_a_revoked_key_leaves_its_slot(shop: Shop, raw: Any) -> None:
    await copy(raw, "api_keys", shop.key_id, id="key_2", hmac="\\x02", revoked_at="2031-01-01T00:00:00Z")


async def test_an_api_key_is_known_once(shop: Shop, raw: Any) -> None:
    async with refused_by(raw, "api_keys_hmac_key"):
        await copy(raw, "api_keys", shop.key_id, id="key_2", slot=2)


async def test_a_database_is_declared_once(raw: Any) -> None:
    async with refused_by(raw, "deployment_pkey"):
        await raw.execute("INSERT INTO deployment (environment, cell) VALUES ('production', 'c9')")
