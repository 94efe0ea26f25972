"""API keys in the administration: shown once, rotated with an overlap, revoked by typing; every act is noted."""

import re
from datetime import UTC, datetime

import pytest

from pickupbox.api.app import make_app
from pickupbox.database import tenants
from pickupbox.domain.roles import Role
from pickupbox.usecases.tenants import issue_key, keep_key, revoke_key, rotate_key
from tests.admin.integrations import administrator, noted
from tests.admin.office import Office
from tests.admin.people import run
from tests.support.shop import Shop, client_of

KEY = re.compile(r"pbx_test_c1_[0-9A-Za-z]{49}")


async def keys_of(shop: Shop) -> dict[str, tenants.ApiKey]:
    async with shop.core.db.connection() as connection:
        return {key.id: key for key in await tenants.list_keys(connection, shop.tenant)}


async def works(shop: Shop, key: str) -> bool:
    """At a process of the API that has not seen the key yet."""
    async with client_of(make_app(shop.core, "memory://"), key) as client:
        return (await client.get("/boxes")).status_code == 200


async def outlive(shop: Shop, key_id: str) -> None:
    """The time comes at which the key was to end."""
    await run(shop.core, "UPDATE api_keys SET revoke_at = now() - interval '1 s' WHERE id = $1 RETURNING true", key_id)


async def test_a_new_key_is_shown_once_and_works_and_is_noted(office: Office, shop: Shop) -> None:
    person = await administrator(office)
    shown = await person.post("/keys/new", {"name": "Web shop"})
    assert shown.status_code == 200
    assert shown.headers["cache-control"] == "no-store"
    (key,) = set(KEY.findall(shown.text))
    assert await works(shop, key)
    (made,) = [one for one in (await keys_of(shop)).values() if one.name == "Web shop"]
    assert await noted(shop.core, made.id) == [(person.id, "key.issue")]
    listed = (await person.get("/keys")).text
    assert "Web shop" in listed
    assert made.shown in listed
    assert not KEY.search(listed)


@pytest.mark.parametrize("name", ["", "x" * 81, "a\x07b"])
async def test_a_key_needs_a_name_that_people_can_read(office: Office, shop: Shop, name: str) -> None:
    person = await administrator(office)
    before = await keys_of(shop)
    answer = await person.post("/keys/new", {"name": name})
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.text
    assert await keys_of(shop) == before


async def test_a_key_is_shown_only_to_someone_who_just_confirmed_who_they_are(office: Office, shop: Shop) -> None:
    person = await office.sign_in(Role.OWNER)
    for path in ("/keys/new", f"/keys/{shop.key_id}/rotate"):
        for answer in (await person.get(path), await person.post(path, {"name": "x", "overlap": "24"})):
            assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/confirm")
    assert len(await keys_of(shop)) == 1


async def test_a_rotated_key_and_its_successor_both_work_until_the_overlap_ends(office: Office, shop: Shop) -> None:
    person = await administrator(office)
    (new,) = set(KEY.findall((await person.post(f"/keys/{shop.key_id}/rotate", {"overlap": "24"})).text))
    assert await works(shop, new)
    assert await works(shop, shop.api_key)
    old = (await keys_of(shop))[shop.key_id]
    assert old.revoke_at is not None
    assert 23.9 < (old.revoke_at - datetime.now(UTC)).total_seconds() / 3600 <= 24
    assert await noted(shop.core, shop.key_id) == [(person.id, "key.rotate")]
    assert "Ends by itself" in (await person.get("/keys")).text
    await outlive(shop, shop.key_id)
    assert not await works(shop, shop.api_key)
    assert await works(shop, new)
    listed = (await person.get("/keys")).text
    assert "1 key that has ended" in listed


async def test_a_third_key_of_a_name_waits_until_one_has_ended(office: Office, shop: Shop) -> None:
    person = await administrator(office)
    assert (await person.post(f"/keys/{shop.key_id}/rotate", {"overlap": ""})).status_code == 200
    (second,) = [key for key in await keys_of(shop) if key != shop.key_id]
    refused = await person.post(f"/keys/{second}/rotate", {"overlap": "1"})
    assert refused.status_code == 409
    assert "rotation is under way" in refused.text
    assert (await keys_of(shop))[second].revoke_at is None, "a rotation that was refused changes nothing"
    assert (await person.post("/keys/new", {"name": "test"})).status_code == 409
    await run(shop.core, "UPDATE api_keys SET revoke_at = now() WHERE id = $1 RETURNING true", shop.key_id)
    assert (await person.post("/keys/new", {"name": "test"})).status_code == 200
    assert (await keys_of(shop))[shop.key_id].revoked_at is not None


async def test_a_key_that_would_end_can_be_kept(office: Office, shop: Shop) -> None:
    person = await administrator(office)
    await person.post(f"/keys/{shop.key_id}/rotate", {"overlap": "1"})
    assert (await person.post(f"/keys/{shop.key_id}/keep")).headers["location"] == "/keys"
    assert (await keys_of(shop))[shop.key_id].revoke_at is None
    assert await noted(shop.core, shop.key_id) == [(person.id, "key.rotate"), (person.id, "key.keep")]


async def test_a_key_is_revoked_only_by_typing_its_name(office: Office, shop: Shop) -> None:
    person = await administrator(office)
    assert (await person.post(f"/keys/{shop.key_id}/revoke", {"typed": "tset"})).status_code == 422
    assert await works(shop, shop.api_key)
    assert (await person.post(f"/keys/{shop.key_id}/revoke", {"typed": "test"})).status_code == 303
    assert not await works(shop, shop.api_key)
    assert await noted(shop.core, shop.key_id) == [(person.id, "key.revoke")]
    assert "No live key" in (await person.get("/keys")).text


async def test_a_key_that_has_ended_or_is_foreign_is_not_there(office: Office, shop: Shop, other_shop: Shop) -> None:
    person = await administrator(office)
    await revoke_key(shop.core, shop.caller, shop.key_id)
    for key_id in (shop.key_id, other_shop.key_id, "key_c1_none"):
        for act in ("rotate", "revoke"):
            assert (await person.get(f"/keys/{key_id}/{act}")).status_code == 404
            assert (await person.post(f"/keys/{key_id}/{act}", {"typed": "test"})).status_code == 404
        assert (await person.post(f"/keys/{key_id}/keep")).status_code == 404
    assert await works(other_shop, other_shop.api_key)
    assert other_shop.key_id not in (await person.get("/keys")).text


async def test_what_is_refused_is_not_noted(shop: Shop, other_shop: Shop) -> None:
    assert not await revoke_key(shop.core, shop.caller, other_shop.key_id)
    assert not await keep_key(shop.core, shop.caller, "key_c1_none")
    assert await issue_key(shop.core, shop.caller, "test") is not None
    assert await issue_key(shop.core, shop.caller, "test") is None
    assert await rotate_key(shop.core, shop.caller, shop.key_id, 1) is None
    kept = await run(shop.core, "SELECT action FROM audit WHERE tenant_id = $1", shop.tenant)
    assert kept == [("key.issue",)]
