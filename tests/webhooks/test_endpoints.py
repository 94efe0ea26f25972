"""Endpoints: at most five, their secrets sealed and bound to their row, and nobody else's to touch."""

import asyncio
from base64 import b64decode
from dataclasses import replace

import pytest
from cryptography.exceptions import InvalidTag
from structlog.testing import capture_logs

from pickupbox.database import endpoints, failures
from pickupbox.database.failures import Failed
from pickupbox.domain.lifecycle import Event
from pickupbox.usecases import endpoints as use
from pickupbox.usecases.core import Core
from pickupbox.usecases.endpoints import (
    EndpointRefusedError,
    disable_endpoint,
    enable_endpoint,
    remove_endpoint,
    rotate_secret,
    tend_endpoints,
    try_endpoint,
)
from pickupbox.usecases.rewrap import rewrap_webhook_keys
from pickupbox.vault import Sealed, Vault, new_secret, read_secrets
from pickupbox.webhooks.schedule import BACK_OFF
from pickupbox.webhooks.signing import key_of
from tests.support.shop import Shop
from tests.webhooks.receiving import Receiver, change, fetch, subscribe, waiting


async def live(shop: Shop) -> list[endpoints.Endpoint]:
    async with shop.core.db.connection() as connection:
        return await endpoints.list_all(connection, shop.tenant)


async def secret_of(core: Core, tenant: str, endpoint: str) -> Sealed:
    async with core.db.connection() as connection:
        current, *_ = await endpoints.read_secrets(connection, tenant, endpoint)
    return current


async def test_a_tenant_has_at_most_five_and_a_removed_one_makes_room(shop: Shop) -> None:
    made = [(await subscribe(shop)).id for _ in range(5)]
    with pytest.raises(EndpointRefusedError, match="5 endpoints already"):
        await subscribe(shop)
    assert await remove_endpoint(shop.core, shop.caller, made[2])
    again = (await subscribe(shop)).id
    assert sorted(e.id for e in await live(shop)) == sorted([*made[:2], *made[3:], again])


async def test_a_tenant_has_at_most_five_however_many_are_asked_for_at_once(shop: Shop) -> None:
    made = await asyncio.gather(*(subscribe(shop) for _ in range(12)), return_exceptions=True)
    issued = {one.id for one in made if isinstance(one, use.IssuedEndpoint)}
    assert all(isinstance(one, use.IssuedEndpoint | EndpointRefusedError) for one in made)
    assert {e.id for e in await live(shop)} == issued
    assert 1 <= len(issued) <= 5


async def test_an_endpoint_that_loses_its_slot_to_another_takes_the_next(shop: Shop) -> None:
    """Two are added at the same moment; there is room for both."""
    sealed = shop.core.vault.seal_webhook_key(shop.tenant, "whe_c1_first", bytes(32))
    async with shop.core.db.transaction() as tx:
        assert await endpoints.insert(tx, shop.tenant, "whe_c1_first", "https://a.example", "", None, sealed)
        second = asyncio.create_task(subscribe(shop))
        await asyncio.wait([second], timeout=0.2)
        assert not second.done()
    issued = await asyncio.wait_for(second, 5)
    assert [e.id for e in await live(shop)] == ["whe_c1_first", issued.id]


async def test_an_endpoint_of_a_tenant_that_is_not_there_is_refused(shop: Shop) -> None:
    with pytest.raises(EndpointRefusedError, match="no such tenant"):
        await subscribe(replace(shop, tenant="ten_c1_none"))


@pytest.mark.parametrize("url", ["http://shop.example/", "https://10.0.0.1/", "ftp://shop.example", "https://a b/"])
async def test_an_address_that_webhooks_may_not_go_to_is_refused(shop: Shop, url: str) -> None:
    with pytest.raises(EndpointRefusedError, match="The URL"):
        await subscribe(shop, url)
    assert await live(shop) == []


async def test_this_machine_is_refused_where_the_setting_does_not_open_it(shop: Shop) -> None:
    closed = replace(shop, core=replace(shop.core, webhook_loopback=False))
    for url in ("http://127.0.0.1/", "https://127.0.0.1/", "https://localhost/"):
        with pytest.raises(EndpointRefusedError):
            await subscribe(closed, url)


async def test_a_filter_is_kept_without_repetition_and_none_means_all(shop: Shop) -> None:
    await subscribe(shop, "https://a.example", Event.LOADED, Event.CANCELLED, Event.LOADED)
    await subscribe(shop, "https://b.example")
    assert [(e.url, e.event_types) for e in await live(shop)] == [
        ("https://a.example", ["cancelled", "loaded"]),
        ("https://b.example", None),
    ]


async def test_a_secret_is_sealed_at_rest_and_never_logged(shop: Shop, receiver: Receiver) -> None:
    with capture_logs() as logs:
        issued = await subscribe(shop, receiver.url)
        rotated = await rotate_secret(shop.core, shop.caller, issued.id)
        assert await try_endpoint(shop.core, shop.caller, issued.id, Event.LOADED) is not None
    assert rotated is not None
    (row,) = await fetch(shop.core, "SELECT w::text FROM webhook_endpoints w WHERE id = $1", issued.id)
    for secret in (issued.secret, rotated):
        key = key_of(secret)
        for form in (secret, secret.removeprefix("whsec_"), key.hex()):
            assert form not in row[0]
            assert form not in str(logs)
    assert len(b64decode(issued.secret.removeprefix("whsec_"))) == 32
    sealed = await secret_of(shop.core, shop.tenant, issued.id)
    assert shop.core.vault.open_webhook_key(shop.tenant, issued.id, sealed) == key_of(rotated)


async def test_a_sealed_key_that_is_copied_to_another_endpoint_does_not_open(shop: Shop, other_shop: Shop) -> None:
    mine, beside, theirs = await subscribe(shop), await subscribe(shop), await subscribe(other_shop)
    sealed = await secret_of(shop.core, shop.tenant, mine.id)
    for tenant, endpoint in ((shop.tenant, beside.id), (other_shop.tenant, theirs.id)):
        with pytest.raises(InvalidTag):
            shop.core.vault.open_webhook_key(tenant, endpoint, sealed)


async def test_endpoints_of_others_cannot_be_seen_or_touched(shop: Shop, other_shop: Shop, receiver: Receiver) -> None:
    theirs = (await subscribe(other_shop, receiver.url)).id
    before = await fetch(shop.core, "SELECT w::text FROM webhook_endpoints w WHERE id = $1", theirs)
    assert await rotate_secret(shop.core, shop.caller, theirs) is None
    assert not await disable_endpoint(shop.core, shop.caller, theirs, "by hand")
    assert await enable_endpoint(shop.core, shop.caller, theirs) is None
    assert await try_endpoint(shop.core, shop.caller, theirs, Event.LOADED) is None
    assert not await remove_endpoint(shop.core, shop.caller, theirs)
    assert await live(shop) == []
    assert receiver.got == []
    assert await fetch(shop.core, "SELECT w::text FROM webhook_endpoints w WHERE id = $1", theirs) == before


async def test_a_removed_endpoint_is_gone_for_all_and_its_lanes_are_dropped(shop: Shop) -> None:
    endpoint, beside = (await subscribe(shop)).id, (await subscribe(shop)).id
    shipment = await shop.reserved("A")
    assert await remove_endpoint(shop.core, shop.caller, endpoint)
    assert await rotate_secret(shop.core, shop.caller, endpoint) is None
    assert await enable_endpoint(shop.core, shop.caller, endpoint) is None
    assert not await remove_endpoint(shop.core, shop.caller, endpoint)
    assert await tend_endpoints(shop.core) >= 1
    assert await waiting(shop.core, shop.tenant) == [(beside, shipment, [1])]


async def test_what_waits_for_a_disabled_endpoint_stays_for_30_days(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(use, "BATCH", 2)
    endpoint = (await subscribe(shop)).id
    for order in "ABC":
        await shop.reserved(order)
    await disable_endpoint(shop.core, shop.caller, endpoint, "by hand")
    aged = "UPDATE webhook_endpoints SET disabled_at = now() - make_interval(secs => $2) WHERE id = $1"
    await change(shop.core, aged, endpoint, 29.9 * 86400)
    for _ in range(4):
        await tend_endpoints(shop.core)
    assert len(await waiting(shop.core, shop.tenant)) == 3
    await change(shop.core, aged, endpoint, 30.1 * 86400)
    assert await tend_endpoints(shop.core) == 2, "one batch at a time"
    for _ in range(4):
        await tend_endpoints(shop.core)
    assert await waiting(shop.core, shop.tenant) == []


async def test_an_endpoint_that_is_enabled_again_begins_with_nothing_held_against_it(shop: Shop) -> None:
    """Else it would be disabled again within the minute, and what waits would not go at once."""
    endpoint = (await subscribe(shop)).id
    async with shop.core.db.connection() as connection:
        await failures.note(connection, [Failed(endpoint, 50, None)], BACK_OFF)
    await change(
        shop.core,
        "UPDATE webhook_failures SET failing_since = now() - interval '6 days' WHERE endpoint_id = $1",
        endpoint,
    )
    await tend_endpoints(shop.core)
    before = await enable_endpoint(shop.core, shop.caller, endpoint)
    assert before is not None
    assert before.disabled_because == "it did nothing but fail for 5 days"
    await tend_endpoints(shop.core)
    ((enabled,),) = await fetch(shop.core, "SELECT enabled FROM webhook_endpoints WHERE id = $1", endpoint)
    assert enabled
    assert await fetch(shop.core, "SELECT resume_at FROM webhook_failures WHERE endpoint_id = $1", endpoint) == []


async def test_what_waits_for_a_later_attempt_goes_at_once_when_the_endpoint_is_enabled(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(use, "BATCH", 2)
    endpoint, beside = (await subscribe(shop)).id, (await subscribe(shop)).id
    for order in "ABCDE":
        await shop.reserved(order)
    await change(
        shop.core,
        "UPDATE webhook_lanes SET due_at = now() + interval '9 h', attempts = 5 WHERE tenant_id = $1",
        shop.tenant,
    )
    await disable_endpoint(shop.core, shop.caller, endpoint, "by hand")
    await enable_endpoint(shop.core, shop.caller, endpoint)
    lanes_now = await fetch(
        shop.core,
        "SELECT DISTINCT endpoint_id, due_at <= now(), attempts FROM webhook_lanes WHERE tenant_id = $1",
        shop.tenant,
    )
    assert set(lanes_now) == {(endpoint, True, 0), (beside, False, 5)}


async def test_keys_are_sealed_again_under_a_new_secret_and_stay_the_same_keys(shop: Shop) -> None:
    issued, plain = await subscribe(shop), await subscribe(shop)
    rotated = await rotate_secret(shop.core, shop.caller, issued.id)
    assert rotated is not None
    fresh = read_secrets(new_secret("k2"))[0]
    during = replace(shop.core, vault=Vault([fresh, shop.core.vault.current]))
    after = replace(shop.core, vault=Vault([fresh]))
    try:
        assert await rewrap_webhook_keys(during) >= 2
        assert await rewrap_webhook_keys(during) == 0
        for endpoint, secret in ((issued.id, rotated), (plain.id, plain.secret)):
            sealed = await secret_of(after, shop.tenant, endpoint)
            assert after.vault.open_webhook_key(shop.tenant, endpoint, sealed) == key_of(secret)
        ((before_id, before),) = await fetch(
            shop.core, "SELECT before_id, before_sealed FROM webhook_endpoints WHERE id = $1", issued.id
        )
        assert after.vault.open_webhook_key(shop.tenant, issued.id, Sealed(before_id, before)) == key_of(issued.secret)
    finally:
        await rewrap_webhook_keys(replace(shop.core, vault=Vault([shop.core.vault.current, fresh])))
