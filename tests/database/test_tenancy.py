"""No reference crosses from one tenant to another, tried past the code."""

from typing import Any

from tests.database.rows import copy, copy_shipment, refused_by
from tests.support.shop import Shop


async def test_a_box_belongs_to_a_tenant(shop: Shop, raw: Any) -> None:
    async with refused_by(raw, "boxes_tenant_id_fkey"):
        await copy(raw, "boxes", shop.box_id, id="box_copy", tenant_id="ten_nobody")


async def test_an_id_of_a_box_belongs_to_one_tenant(shop: Shop, other_shop: Shop, raw: Any) -> None:
    """Live compartments and PINs are unique per box id alone, so two tenants must never share one."""
    async with refused_by(raw, "boxes_id_key"):
        await copy(raw, "boxes", shop.box_id, tenant_id=other_shop.tenant)


async def test_a_key_belongs_to_a_tenant(shop: Shop, raw: Any) -> None:
    async with refused_by(raw, "api_keys_tenant_id_fkey"):
        await copy(raw, "api_keys", shop.key_id, id="key_copy", tenant_id="ten_nobody", hmac="\\x02")


async def test_a_compartment_is_not_in_another_tenants_box(shop: Shop, other_shop: Shop, raw: Any) -> None:
    async with refused_by(raw, "compartments_tenant_id_box_id_fkey"):
        await raw.execute(
            "INSERT INTO compartments (tenant_id, box_id, code, position) VALUES ($1, $2, 'Z1', 99)",
            other_shop.tenant,
            shop.box_id,
        )


async def test_a_shipment_is_not_in_another_tenants_compartment(shop: Shop, other_shop: Shop, raw: Any) -> None:
    shipment = await shop.reserved("A")
    async with refused_by(raw, "shipments_tenant_id_box_id_compartment_code_fkey"):
        await copy_shipment(raw, shipment, tenant_id=other_shop.tenant, compartment_code="B6")


async def test_a_shipment_does_not_move_to_another_tenant(shop: Shop, other_shop: Shop, raw: Any) -> None:
    shipment = await shop.reserved("A")
    async with refused_by(raw, "shipments_tenant_id_box_id_compartment_code_fkey"):
        await raw.execute("DELETE FROM events WHERE shipment_id = $1", shipment)
        await raw.execute("UPDATE compartments SET shipment_id = NULL WHERE shipment_id = $1", shipment)
        await raw.execute("UPDATE shipments SET tenant_id = $2 WHERE id = $1", shipment, other_shop.tenant)


async def test_a_retry_is_not_of_another_tenants_shipment(shop: Shop, other_shop: Shop, raw: Any) -> None:
    mine, theirs = await shop.reserved("A"), await other_shop.reserved("A")
    retry = {"attempt_number": 2, "retry_of_shipment_id": theirs}
    async with refused_by(raw, "shipments_tenant_id_retry_of_shipment_id_fkey"):
        await copy_shipment(raw, mine, compartment_code="B6", **retry)


async def test_an_event_is_not_of_another_tenants_shipment(shop: Shop, other_shop: Shop, raw: Any) -> None:
    shipment = await shop.reserved("A")
    event = await raw.fetchval("SELECT id FROM events WHERE shipment_id = $1", shipment)
    async with refused_by(raw, "events_tenant_id_shipment_id_fkey"):
        await copy(raw, "events", event, tenant_id=other_shop.tenant)


async def test_a_compartment_is_not_held_by_another_tenants_shipment(shop: Shop, other_shop: Shop, raw: Any) -> None:
    theirs = await other_shop.reserved("A")
    async with refused_by(raw, "compartments_tenant_id_shipment_id_fkey"):
        await raw.execute(
            "UPDATE compartments SET shipment_id = $2 WHERE tenant_id = $1 AND code = 'B6'", shop.tenant, theirs
        )
