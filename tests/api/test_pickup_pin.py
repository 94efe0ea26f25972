"""GET /shipments/{shipment_id}/pickup-pin."""

from datetime import datetime

import pytest

from tests.api.contract import breaches
from tests.api.stages import STATES, shipment_in
from tests.api.stored import audit_of
from tests.support.shop import Shop

WITH_PIN = [state for state, (_, face) in STATES.items() if face[0] in ("reserved", "loaded")]
WITHOUT_PIN = [state for state in STATES if state not in WITH_PIN]


@pytest.mark.parametrize("state", WITH_PIN)
async def test_a_reserved_or_loaded_shipment_shows_its_pin(shop: Shop, state: str) -> None:
    pin = (await shop.reserve("order-1")).json()["pickup_pin"]
    shipment_id = await shipment_in(shop, state, "order-1")
    answer = await shop.pin(shipment_id)
    assert answer.status_code == 200
    assert breaches(answer.json(), "PublicPickupPinRead") == []
    assert answer.json() == {"shipment_id": shipment_id, "pickup_pin": pin}


@pytest.mark.parametrize("state", WITHOUT_PIN)
async def test_any_other_shipment_shows_none_and_is_not_audited(shop: Shop, state: str) -> None:
    answer = await shop.pin(await shipment_in(shop, state))
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "pin_not_available")
    assert breaches(answer.json(), "PublicErrorResponse") == []
    assert await audit_of(shop) == []


async def test_a_pin_is_never_cached(shop: Shop) -> None:
    assert (await shop.pin(await shop.reserved())).headers["cache-control"] == "no-store"


async def test_every_reveal_is_audited_without_the_pin(shop: Shop) -> None:
    shipment_id = await shop.reserved()
    answers = [await shop.pin(shipment_id), await shop.pin(shipment_id)]
    entries = await audit_of(shop)
    assert [entry["request_id"] for entry in entries] == [answer.headers["x-request-id"] for answer in answers]
    for entry in entries:
        assert entry["id"].startswith("aud_")
        assert (entry["tenant_id"], entry["actor"]) == (shop.tenant, shop.key_id)
        assert (entry["action"], entry["object"]) == ("pin.reveal", shipment_id)
        assert entry["address"] == "127.0.0.1"
        assert datetime.fromisoformat(entry["at"]).tzinfo is not None
        # The hash chain is sealed later by the worker.
        assert set(entry) == {
            "id", "tenant_id", "actor", "action", "object", "request_id", "address", "at", "chain_number", "chain_hash"
        }  # fmt: skip
        assert answers[0].json()["pickup_pin"] not in entry.values()


async def test_an_unknown_shipment_has_no_pin_and_is_not_audited(shop: Shop) -> None:
    answer = await shop.pin("shp_c1_00000000000000000000000000")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "shipment_not_found")
    assert await audit_of(shop) == []


async def test_the_pin_rests_sealed(shop: Shop) -> None:
    made = (await shop.reserve()).json()
    async with shop.core.db.connection() as connection:
        row = await connection.fetchrow("SELECT * FROM shipments WHERE id = $1", made["id"])
    assert row is not None
    assert all(made["pickup_pin"].encode() not in value for value in row.values() if isinstance(value, bytes))
    assert made["pickup_pin"] not in [value for value in row.values() if isinstance(value, str)]
    assert len(row["pin_sealed"]) > len(made["pickup_pin"])
