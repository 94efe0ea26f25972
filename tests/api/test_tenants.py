"""A key is bound to its tenant: what is another's is not found, whatever is tried."""

import pytest

from tests.api.additions import SERVED
from tests.api.calls import UNKNOWN_SHIPMENT, call
from tests.api.contract import BY_SHIPMENT, SANDBOX_EVENTS, Operation
from tests.api.stages import STATES, shipment_in
from tests.api.stored import everything
from tests.support.shop import Shop


@pytest.mark.parametrize("operation", BY_SHIPMENT, ids=lambda operation: operation.name)
@pytest.mark.parametrize("state", STATES)
async def test_a_foreign_shipment_is_not_found_and_does_not_change(
    shop: Shop, other_shop: Shop, operation: Operation, state: str
) -> None:
    shipment_id = await shipment_in(other_shop, state)
    before = await everything(other_shop), await everything(shop)
    answer = await call(shop, operation, shipment_id)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "shipment_not_found")
    assert (await everything(other_shop), await everything(shop)) == before


@pytest.mark.parametrize("event", SANDBOX_EVENTS)
async def test_no_simulated_event_reaches_a_foreign_shipment(shop: Shop, other_shop: Shop, event: str) -> None:
    shipment_ids = [await shipment_in(other_shop, state, f"order {state}") for state in list(STATES)[:12]]
    before = await everything(other_shop)
    assert {(await shop.simulate(shipment_id, event)).status_code for shipment_id in shipment_ids} == {404}
    assert await everything(other_shop) == before


async def test_a_foreign_box_is_not_found_and_stays_free(shop: Shop, other_shop: Shop) -> None:
    before = await everything(other_shop), await everything(shop)
    answer = await shop.reserve("order-1", other_shop.box_id)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "box_not_found")
    assert (await everything(other_shop), await everything(shop)) == before


async def test_a_foreign_order_is_not_replayed(shop: Shop, other_shop: Shop) -> None:
    theirs = (await other_shop.reserve("order-1")).json()
    before = await everything(other_shop)
    answer = await shop.reserve("order-1", other_shop.box_id)
    assert answer.status_code == 404
    assert theirs["id"] not in answer.text
    assert await everything(other_shop) == before


@pytest.mark.parametrize("operation", BY_SHIPMENT, ids=lambda operation: operation.name)
async def test_a_foreign_thing_and_nothing_look_the_same(shop: Shop, other_shop: Shop, operation: Operation) -> None:
    foreign = await call(shop, operation, await other_shop.reserved())
    nothing = await call(shop, operation, UNKNOWN_SHIPMENT)
    assert _without_its_id(foreign) == _without_its_id(nothing)


async def test_no_answer_shows_an_internal_identifier(shop: Shop) -> None:
    answers = [await shop.boxes(), await shop.reserve("order-1", customer_name="Ada"), await shop.reserve("order-1")]
    shipment_id = answers[1].json()["id"]
    for operation in SERVED:
        answers += [await call(shop, operation, shipment_id), await call(shop, operation)]
    for answer in answers:
        shown = answer.text + str(answer.headers)
        assert shop.tenant not in shown
        assert shop.key_id not in shown
        assert "ten_" not in shown


def _without_its_id(answer: object) -> str:
    text, request_id = answer.text, answer.headers["x-request-id"]  # type: ignore[attr-defined]
    return text.replace(request_id, "")
