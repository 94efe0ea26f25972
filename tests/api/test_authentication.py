"""API keys: who is let in, who is not, and that nothing is looked at before."""

import asyncio
import re
import time

import pytest
from starlette.types import ASGIApp

from pickupbox.api.app import make_app
from pickupbox.database import tenants
from pickupbox.domain.identifiers import api_key
from pickupbox.usecases.core import Core
from pickupbox.usecases.tenants import issue_key, revoke_key
from tests.api.additions import SERVED
from tests.api.calls import call
from tests.api.contract import Operation, breaches
from tests.api.stored import everything
from tests.support.shop import Shop, client_of

NEVER_ISSUED = api_key("test", "c1", bytes(32))
every_operation = pytest.mark.parametrize("operation", SERVED, ids=lambda operation: operation.name)


@every_operation
async def test_every_operation_needs_a_key(shop: Shop, app: ASGIApp, operation: Operation) -> None:
    shipment_id = await shop.reserved("mine")
    before = await everything(shop)
    for wrong_key in (None, NEVER_ISSUED):
        async with client_of(app, wrong_key) as stranger:
            answer = await call(shop, operation, shipment_id, stranger)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
        assert breaches(answer.json(), "PublicErrorResponse") == []
        assert answer.headers["www-authenticate"] == "Bearer"
    assert await everything(shop) == before


@every_operation
async def test_every_operation_takes_a_good_key(shop: Shop, operation: Operation) -> None:
    shipment_id = await shop.reserved("mine")
    assert (await call(shop, operation, shipment_id)).status_code not in (401, 403)


async def test_every_kind_of_wrong_credential_is_refused_alike(shop: Shop, app: ASGIApp) -> None:
    key = shop.api_key
    other_check = key[:-1] + ("a" if key[-1] != "a" else "b")
    wrong = ["", "Bearer", "Bearer ", key, f"Basic {key}", f"Token {key}", f"Bearer {key}x", f"Bearer x{key}"]
    wrong += [f"Bearer {other_check}", f"Bearer {key.swapcase()}", f"Bearer {key} {key}", f"Bearer{key}", "Bearer é"]
    wrong += [f"Bearer {shop.key_id}", f"Bearer {NEVER_ISSUED}", f"Bearer {key.replace('_test_', '_live_')}"]
    bodies = set()
    async with client_of(app) as stranger:
        for header in wrong:
            answer = await stranger.get("/boxes", headers={"authorization": header.encode("latin-1")})
            assert answer.status_code == 401, header
            bodies.add(answer.text.replace(answer.headers["x-request-id"], ""))
    assert len(bodies) == 1


async def test_the_scheme_is_bearer_in_any_case(shop: Shop, app: ASGIApp) -> None:
    async with client_of(app) as client:
        for scheme in ("Bearer", "bearer", "BEARER"):
            answer = await client.get("/boxes", headers={"authorization": f"{scheme} {shop.api_key}"})
            assert answer.status_code == 200


async def test_a_key_in_the_query_is_no_key(shop: Shop, app: ASGIApp) -> None:
    async with client_of(app) as client:
        assert (await client.get("/boxes", params={"api_key": shop.api_key})).status_code == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/nothing"),
        ("GET", "/shipments"),
        ("DELETE", "/boxes"),
        ("GET", f"/shipments/{'x' * 65}"),
        ("GET", "/shipments/%00"),
        ("POST", "/shipments"),
        ("POST", "/sandbox/shipments/x/events"),
    ],
)
async def test_401_comes_before_anything_else_is_looked_at(app: ASGIApp, method: str, path: str) -> None:
    async with client_of(app) as stranger:
        answer = await stranger.request(method, path, content=b"not json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")


async def test_a_key_says_environment_and_cell_and_is_long(shop: Shop) -> None:
    # 32 bytes of chance are 43 characters in base 62, then a checksum of 6.
    assert re.fullmatch(r"pbx_test_c1_[0-9A-Za-z]{49}", shop.api_key)


async def test_the_key_itself_is_not_kept(shop: Shop) -> None:
    async with shop.core.db.connection() as connection:
        row = await connection.fetchrow("SELECT * FROM api_keys WHERE id = $1", shop.key_id)
        (listed,) = await tenants.list_keys(connection, shop.tenant)
    assert row is not None
    secret_part = shop.api_key.removeprefix("pbx_test_c1_")
    assert row["hmac"] == shop.core.vault.api_key_hmac(shop.api_key)
    for value in row.values():
        assert secret_part[:12] not in (value.decode("latin-1") if isinstance(value, bytes) else str(value))
    # What a list shows is enough to know the key by, and too little to use it.
    assert listed.shown == f"pbx_test_c1_…{shop.api_key[-4:]}"


async def test_two_keys_of_a_name_live_at_a_time_for_a_rotation(shop: Shop, app: ASGIApp) -> None:
    second = await issue_key(shop.core, shop.caller, "test")
    assert second is not None
    assert await issue_key(shop.core, shop.caller, "test") is None
    for key in (shop.api_key, second.api_key):
        async with client_of(app, key) as client:
            assert (await client.get("/boxes")).status_code == 200
    assert await revoke_key(shop.core, shop.caller, shop.key_id)
    third = await issue_key(shop.core, shop.caller, "test")
    assert third is not None


async def test_a_revoked_key_is_refused_within_5_seconds(shop: Shop, core: Core) -> None:
    assert (await shop.boxes()).status_code == 200
    assert await revoke_key(core, shop.caller, shop.key_id)
    revoked_at = time.monotonic()
    # A process that has not seen the key knows at once.
    async with client_of(make_app(core, "memory://"), shop.api_key) as elsewhere:
        assert (await elsewhere.get("/boxes")).status_code == 401
    asked_at = time.monotonic()
    while (await shop.boxes()).status_code == 200:
        assert asked_at < revoked_at + 5
        await asyncio.sleep(0.1)
        asked_at = time.monotonic()
    assert (await shop.boxes()).status_code == 401


async def test_a_tenant_cannot_revoke_the_key_of_another(shop: Shop, other_shop: Shop) -> None:
    assert not await revoke_key(shop.core, shop.caller, other_shop.key_id)
    assert (await other_shop.boxes()).status_code == 200
