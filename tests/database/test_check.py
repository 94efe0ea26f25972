"""`check` finds every planted breach, under its number, and nothing on what is sound."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from starlette.types import ASGIApp

from pickupbox.api.app import make_app
from pickupbox.settings import Settings
from pickupbox.usecases.audit_chain import seal
from pickupbox.usecases.check import INVARIANTS, check
from pickupbox.usecases.clock import sweep
from pickupbox.usecases.core import Core, open_core
from tests.support.databases import elapse, own_database
from tests.support.shop import Shop

# What stands in the way of a breach in the first place.
GUARDS = """
    DROP INDEX shipments_live_compartment, shipments_live_pin, shipments_one_retry;
    ALTER TABLE shipments DROP CONSTRAINT shipments_released, DROP CONSTRAINT shipments_due,
        DROP CONSTRAINT shipments_loaded, DROP CONSTRAINT shipments_picked_up, DROP CONSTRAINT shipments_first_or_retry;
    ALTER TABLE compartments DROP CONSTRAINT IF EXISTS compartments_tenant_id_shipment_id_fkey;
    ALTER TABLE audit DISABLE TRIGGER audit_append_only;
"""


@pytest.fixture(scope="module")
def settings() -> Iterator[Settings]:
    with own_database() as made:
        yield made


@pytest_asyncio.fixture(scope="module")
async def core(settings: Settings) -> AsyncIterator[Core]:
    core = open_core(settings)
    async with core.db.connection() as connection:
        await connection.execute(GUARDS)
    yield core
    await core.db.close()


@pytest.fixture(scope="module")
def app(core: Core) -> ASGIApp:
    return make_app(core, "memory://")


async def broken(shop: Shop) -> set[int]:
    """The numbers of the invariants that are broken for the shop's tenant."""
    return {finding.number for finding in await check(shop.core, shop.tenant) if finding.breaches}


async def spoil(shop: Shop, statement: str, *values: Any) -> None:
    async with shop.core.db.connection() as connection:
        done = await connection.execute(statement, *values)
    assert not done.endswith(" 0"), "the statement spoiled nothing"


async def ready(shop: Shop, order: str) -> str:
    """A shipment whose protection has ended."""
    shipment = await shop.reserved(order, "loaded")
    await elapse(shop.core, shipment, 10)
    await sweep(shop.core, 1000)
    assert (await shop.read(shipment)).json()["pickup_enabled"] is True
    return shipment


async def test_nothing_is_found_where_nothing_is_wrong(shop: Shop, core: Core) -> None:
    await ready(shop, "ready")
    for number, events in enumerate(
        [
            (),
            ("loaded",),
            ("loaded", "picked_up"),
            ("loaded", "picked_up", "door_available"),
            ("expired",),
            ("loaded", "expired", "removed"),
            ("fault",),
            ("loaded", "fault", "removed"),
        ]
    ):
        await shop.reserved(f"order-{number}", *events)
    faulted = await shop.reserved("faulted", "fault", "removed")
    again = (await shop.retry(faulted)).json()["id"]
    await shop.pin(again)
    await shop.cancel(again)
    await seal(core, 1000)
    findings = await check(core, shop.tenant)
    assert [(finding.number, finding.breaches) for finding in findings] == [(number, []) for number in INVARIANTS]


async def test_the_invariants_are_those_of_the_design() -> None:
    assert set(INVARIANTS) == set(range(1, 15))


async def test_two_live_shipments_in_one_compartment_break_1(shop: Shop) -> None:
    first, second = await shop.reserved("A"), await shop.reserved("B")
    await spoil(
        shop,
        "UPDATE shipments SET compartment_code = o.compartment_code FROM (SELECT compartment_code FROM shipments "
        "WHERE id = $1) o WHERE id = $2",
        first,
        second,
    )
    found = {finding.number: finding.breaches for finding in await check(shop.core, shop.tenant)}
    assert any("has 2 live shipments" in breach for breach in found[1])


async def test_a_compartment_that_a_live_shipment_does_not_hold_breaks_1(shop: Shop) -> None:
    shipment = await shop.reserved("A")
    await spoil(shop, "UPDATE compartments SET shipment_id = NULL WHERE shipment_id = $1", shipment)
    assert await broken(shop) == {1}


async def test_a_compartment_held_by_a_finished_shipment_breaks_1(shop: Shop) -> None:
    shipment = await shop.reserved("A", "expired")
    await spoil(
        shop, "UPDATE compartments SET shipment_id = $1 WHERE tenant_id = $2 AND code = 'A1'", shipment, shop.tenant
    )
    assert await broken(shop) == {1}


async def test_a_compartment_held_by_another_tenants_shipment_breaks_1(shop: Shop, other_shop: Shop) -> None:
    shipment = await other_shop.reserved("A")
    await spoil(
        shop, "UPDATE compartments SET shipment_id = $1 WHERE tenant_id = $2 AND code = 'A1'", shipment, shop.tenant
    )
    assert await broken(shop) == {1}


async def test_one_pin_twice_in_a_box_breaks_2(shop: Shop) -> None:
    first, second = await shop.reserved("A"), await shop.reserved("B")
    await spoil(
        shop,
        "UPDATE shipments SET pin_lookup = (SELECT pin_lookup FROM shipments WHERE id = $1) WHERE id = $2",
        first,
        second,
    )
    assert await broken(shop) == {2}


async def test_a_loaded_compartment_freed_without_removal_breaks_3(shop: Shop) -> None:
    shipment = await shop.reserved("A", "loaded", "expired")
    await spoil(
        shop, "UPDATE shipments SET stage = 'expired', released_at = updated_at, due_at = NULL WHERE id = $1", shipment
    )
    await spoil(shop, "UPDATE compartments SET shipment_id = NULL WHERE shipment_id = $1", shipment)
    assert {3, 4} <= await broken(shop)


async def test_a_pickup_released_without_cooldown_breaks_3(shop: Shop) -> None:
    shipment = await shop.reserved("A", "loaded", "picked_up", "door_available")
    await spoil(shop, "UPDATE shipments SET trail = trim_array(trail, 1) WHERE id = $1", shipment)
    assert 3 in await broken(shop)


async def test_a_stage_that_does_not_follow_breaks_4(shop: Shop) -> None:
    shipment = await shop.reserved("A")
    await spoil(shop, "UPDATE shipments SET stage = 'loading' WHERE id = $1", shipment)
    assert await broken(shop) == {4}


async def test_a_step_that_is_not_in_the_table_breaks_4(shop: Shop) -> None:
    shipment = await shop.reserved("A")
    await spoil(shop, "UPDATE shipments SET trail = trail || 'pick_up'::text WHERE id = $1", shipment)
    assert await broken(shop) == {4}


async def test_a_stage_that_nobody_knows_breaks_4(shop: Shop) -> None:
    shipment = await shop.reserved("A")
    await spoil(shop, "UPDATE shipments SET stage = 'teleported' WHERE id = $1", shipment)
    assert 4 in await broken(shop)


SAYS = "UPDATE events SET data = (data::jsonb || $2::text::jsonb)::json WHERE shipment_id = $1 AND type = $3"


async def test_a_final_status_that_changes_breaks_5(shop: Shop) -> None:
    shipment = await shop.reserved("A", "loaded", "expired", "removed")
    await spoil(shop, SAYS, shipment, '{"status": "fault"}', "removed")
    assert await broken(shop) == {5, 6}


async def test_a_missing_event_breaks_6(shop: Shop) -> None:
    shipment = await shop.reserved("A", "loaded", "picked_up")
    await spoil(shop, "DELETE FROM events WHERE shipment_id = $1 AND type = 'loaded'", shipment)
    assert await broken(shop) == {6}


async def test_an_event_too_many_breaks_6(shop: Shop) -> None:
    shipment = await shop.reserved("A")
    await spoil(
        shop,
        "INSERT INTO events SELECT (jsonb_populate_record(e, '{\"sequence\": 2}')).* FROM events e "
        "WHERE shipment_id = $1",
        shipment,
    )
    assert await broken(shop) == {6}


async def test_a_wrong_count_of_events_breaks_6(shop: Shop) -> None:
    shipment = await shop.reserved("A")
    await spoil(shop, "UPDATE shipments SET event_count = 2 WHERE id = $1", shipment)
    assert await broken(shop) == {6}


async def test_a_release_that_was_not_told_breaks_8(shop: Shop) -> None:
    shipment = await shop.reserved("A", "expired")
    await spoil(shop, "DELETE FROM events WHERE shipment_id = $1 AND type = 'door_available'", shipment)
    assert {6, 8} <= await broken(shop)


async def test_a_removal_that_was_not_told_breaks_8(shop: Shop) -> None:
    shipment = await shop.reserved("A", "fault", "removed")
    await spoil(shop, "DELETE FROM events WHERE shipment_id = $1 AND type = 'removed'", shipment)
    assert {6, 8} <= await broken(shop)


async def test_loaded_told_before_protection_ended_breaks_9(shop: Shop) -> None:
    shipment = await ready(shop, "A")
    await spoil(
        shop,
        "UPDATE shipments SET pickup_available_at = pickup_available_at + interval '1 hour' WHERE id = $1",
        shipment,
    )
    assert await broken(shop) == {9}


async def test_a_gap_between_attempts_breaks_10(shop: Shop) -> None:
    faulted = await shop.reserved("A", "fault", "removed")
    again = (await shop.retry(faulted)).json()["id"]
    await spoil(shop, "UPDATE shipments SET attempt_number = 3 WHERE id = $1", again)
    assert 10 in await broken(shop)


@pytest.mark.parametrize("events", [("expired",), ("fault",)])
async def test_a_retry_of_what_is_no_released_fault_breaks_10(shop: Shop, events: tuple[str, ...]) -> None:
    first = await shop.reserved("A", *events)
    second = await shop.reserved("B")
    retry = "UPDATE shipments SET external_order_id = 'A', attempt_number = 2, retry_of_shipment_id = $1 WHERE id = $2"
    await spoil(shop, retry, first, second)
    assert 10 in await broken(shop)


@pytest.mark.parametrize(
    "backwards",
    [
        "loaded_at = created_at - interval '1 minute'",
        "picked_up_at = loaded_at - interval '1 second'",
        "released_at = picked_up_at - interval '1 second'",
        "updated_at = released_at - interval '1 second'",
        "pickup_available_at = loaded_at - interval '1 second'",
        "pickup_expires_at = pickup_expires_at + interval '1 minute'",
        "reservation_expires_at = reservation_expires_at - interval '1 minute'",
    ],
)
async def test_times_that_run_backwards_or_do_not_agree_break_11(shop: Shop, backwards: str) -> None:
    shipment = await shop.reserved("A", "loaded", "picked_up", "door_available")
    await spoil(shop, f"UPDATE shipments SET {backwards} WHERE id = $1", shipment)
    assert await broken(shop) == {11}


async def test_events_that_run_backwards_break_11(shop: Shop) -> None:
    shipment = await shop.reserved("A", "expired")
    await spoil(
        shop,
        "UPDATE events SET occurred_at = occurred_at - interval '1 day' WHERE shipment_id = $1 AND type = 'expired'",
        shipment,
    )
    assert await broken(shop) == {11}


@pytest.mark.parametrize(
    "field",
    [
        "shipment_id",
        "external_order_id",
        "attempt_number",
        "retry_of_shipment_id",
        "box_id",
        "compartment_code",
    ],
)
async def test_an_event_that_shows_something_foreign_breaks_12(shop: Shop, field: str) -> None:
    shipment = await shop.reserved("A")
    foreign = 99 if field == "attempt_number" else "of another"
    await spoil(shop, SAYS, shipment, json.dumps({field: foreign}), "reserved")
    assert await broken(shop) == {12}


async def test_an_event_that_belongs_to_no_shipment_breaks_12(shop: Shop) -> None:
    shipment = await shop.reserved("A", "expired")
    await spoil(
        shop,
        "UPDATE events SET shipment_created_at = shipment_created_at - interval '1 second' WHERE shipment_id = $1",
        shipment,
    )
    assert 12 in await broken(shop)


async def test_an_event_that_shows_nothing_at_all_is_found_and_is_not_an_error_of_the_check(shop: Shop) -> None:
    shipment = await shop.reserved("A")
    await spoil(shop, "UPDATE events SET data = '{}' WHERE shipment_id = $1", shipment)
    assert {6, 12, 14} <= await broken(shop)


async def test_a_changed_audit_entry_breaks_13(shop: Shop, core: Core) -> None:
    await shop.pin(await shop.reserved("A"))
    await seal(core, 1000)
    await spoil(shop, "UPDATE audit SET actor = 'nobody' WHERE tenant_id = $1", shop.tenant)
    assert await broken(shop) == {13}


async def test_a_last_event_that_shows_another_state_breaks_14(shop: Shop) -> None:
    shipment = await shop.reserved("A", "loaded", "picked_up")
    await spoil(shop, SAYS, shipment, '{"compartment_state": "occupied"}', "picked_up")
    assert await broken(shop) == {6, 14}


async def test_a_check_of_one_tenant_finds_nothing_of_another(shop: Shop, other_shop: Shop) -> None:
    shipment = await shop.reserved("A")
    await other_shop.reserved("A")
    await spoil(shop, "UPDATE shipments SET stage = 'loading' WHERE id = $1", shipment)
    assert await broken(other_shop) == set()
    assert await broken(shop) == {4}
