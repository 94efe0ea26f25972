"""Enrollment: a code is exchanged once for a certificate, which is renewed, and can be taken back."""

import asyncio
import io
import json
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
import pytest_asyncio
import structlog
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from pickupbox.api.app import make_app
from pickupbox.certificates import new_authority, read_authority, read_certificate
from pickupbox.telemetry import start_logs
from pickupbox.usecases.core import Core
from pickupbox.usecases.devices import (
    CERTIFICATES,
    CODE_FAILURES,
    AuthorityMissingError,
    Enrollment,
    enroll,
    exchange,
    renew,
    revocations,
    revoke,
)
from pickupbox.vault import Vault, new_secret, read_secrets
from tests.devices.broker import request_of
from tests.devices.street import operator
from tests.support.shop import Shop

SETTING = new_authority("Test devices", datetime.now(UTC))
WRONG = "AAAA-AAAA-AAAA-AAAA"
KEY = ec.generate_private_key(ec.SECP256R1())
REQUEST = request_of(KEY)


@pytest.fixture(scope="module")
def signing(core: Core) -> Core:
    """The core of a process that has a signing key in its settings."""
    return replace(core, authority=read_authority(SETTING))


@pytest_asyncio.fixture
async def http(signing: Core) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(make_app(signing, "memory://"))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client


async def enrolled(signing: Core, shop: Shop) -> Enrollment:
    made = await enroll(signing, operator(shop), shop.box_id)
    assert made is not None
    return made


async def certified(signing: Core, shop: Shop) -> str:
    """A device that has its first certificate."""
    made = await enrolled(signing, shop)
    assert await exchange(signing, made.device, made.code, REQUEST)
    return made.device


async def ask(http: httpx.AsyncClient, device: str, code: str, request: str = REQUEST) -> httpx.Response:
    return await http.post("/devices/v1/certificates", json={"device": device, "code": code, "request": request})


async def sql(core: Core, statement: str, *values: object) -> list[Any]:
    """Past the code: what time or a gateway would have done, and what is kept."""
    async with core.db.connection() as connection:
        return [tuple(row.values()) for row in await connection.fetch(statement, *values)]


async def pass_days(core: Core, device: str, days: int) -> None:
    for table, column in (("device_certificates", "device_id"), ("devices", "id")):
        ends = "until" if table == "device_certificates" else "certificate_until"
        await sql(
            core, f"UPDATE {table} SET {ends} = {ends} - make_interval(days => $2) WHERE {column} = $1", device, days
        )


async def serials(signing: Core) -> set[str]:
    listed = x509.load_pem_x509_crl((await revocations(signing)).encode())
    return {f"{entry.serial_number:x}" for entry in listed}


async def test_a_box_exchanges_its_code_for_a_certificate(http: httpx.AsyncClient, signing: Core, shop: Shop) -> None:
    made = await enrolled(signing, shop)
    answer = await ask(http, made.device, made.code)
    assert answer.status_code == 201, answer.text
    assert answer.headers["cache-control"] == "no-store"
    chain = answer.json()["chain"]
    said = read_certificate(chain)
    assert said.device == made.device
    assert x509.load_pem_x509_certificate(chain.encode()).public_key() == KEY.public_key()
    kept = await sql(signing, "SELECT certificate_serial, certificate_until FROM devices WHERE id = $1", made.device)
    assert kept == [(said.serial, said.until)]


async def test_wrong_used_expired_foreign_unknown_and_revoked_look_alike(
    http: httpx.AsyncClient, signing: Core, shop: Shop, other_shop: Shop
) -> None:
    shops = [shop, *[replace(shop, box_id=await shop.add_box()) for _ in range(4)]]
    used, expired, revoked, guessed, waiting = [await enrolled(signing, one) for one in shops]
    foreign = await enrolled(signing, other_shop)
    assert (await ask(http, used.device, used.code)).status_code == 201
    await sql(signing, "UPDATE devices SET code_until = now() WHERE id = $1", expired.device)
    assert await revoke(signing, operator(shop), revoked.device)
    for _ in range(CODE_FAILURES):
        await ask(http, guessed.device, WRONG)
    refused = [
        await ask(http, device, code)
        for device, code in (
            (waiting.device, WRONG),
            (waiting.device, "x"),
            (waiting.device, foreign.code),
            (used.device, used.code),
            (expired.device, expired.code),
            (revoked.device, revoked.code),
            (guessed.device, guessed.code),
            (signing.new_id("dev"), waiting.code),
        )
    ]
    seen = set()
    for answer in refused:
        body = answer.json()
        assert body["error"].pop("request_id") == answer.headers.pop("x-request-id")
        seen.add((answer.status_code, json.dumps(body), json.dumps(sorted(answer.headers.items()))))
    assert len(seen) == 1
    assert (refused[0].status_code, refused[0].json()["error"]["code"]) == (404, "not_found")
    assert (await ask(http, waiting.device, waiting.code)).status_code == 201


async def test_ten_wrong_codes_end_a_code_and_nine_do_not(http: httpx.AsyncClient, signing: Core, shop: Shop) -> None:
    patient = await enrolled(signing, shop)
    for _ in range(CODE_FAILURES - 1):
        assert (await ask(http, patient.device, WRONG)).status_code == 404
    assert (await ask(http, patient.device, patient.code)).status_code == 201
    guessed = await enrolled(signing, replace(shop, box_id=await shop.add_box()))
    await asyncio.gather(*(ask(http, guessed.device, WRONG) for _ in range(CODE_FAILURES)))
    assert (await ask(http, guessed.device, guessed.code)).status_code == 404


async def test_of_two_boxes_with_one_code_one_gets_the_certificate(
    http: httpx.AsyncClient, signing: Core, shop: Shop
) -> None:
    made = await enrolled(signing, shop)
    other = request_of(ec.generate_private_key(ec.SECP256R1()))
    answers = await asyncio.gather(*(ask(http, made.device, made.code, one) for one in (REQUEST, other) * 3))
    assert sorted(answer.status_code for answer in answers) == [201] + [404] * 5


async def test_a_bad_request_says_what_is_wrong_and_uses_nothing_up(
    http: httpx.AsyncClient, signing: Core, shop: Shop
) -> None:
    made = await enrolled(signing, shop)
    bad = request_of(ec.generate_private_key(ec.SECP384R1()))
    for _ in range(CODE_FAILURES + 1):
        answer = await ask(http, made.device, made.code, bad)
        assert answer.status_code == 422
        (problem,) = answer.json()["error"]["details"]
        assert (problem["loc"], problem["msg"]) == (["body", "request"], "its key is not ECDSA P-256")
    answer = await http.post("/devices/v1/certificates", json={"device": "box", "code": made.code, "more": 1})
    assert answer.status_code == 422
    assert made.code not in answer.text
    assert (await ask(http, made.device, made.code)).status_code == 201


async def test_of_a_code_only_a_keyed_hmac_is_kept(signing: Core, shop: Shop) -> None:
    made = await enrolled(signing, shop)
    ((kept,),) = await sql(signing, "SELECT code_hmac FROM devices WHERE id = $1", made.device)
    ((row,),) = await sql(signing, "SELECT to_jsonb(d)::text FROM devices d WHERE id = $1", made.device)
    assert made.code not in row
    assert kept == signing.vault.device_code_hmac(made.device, made.code)
    others = Vault(read_secrets(new_secret("k9")))
    assert kept != others.device_code_hmac(made.device, made.code)
    assert kept != signing.vault.device_code_hmac(signing.new_id("dev"), made.code)


async def test_a_code_survives_a_rotation_of_secrets(signing: Core, shop: Shop) -> None:
    old, new = new_secret("k1"), new_secret("k2")
    before = replace(signing, vault=Vault(read_secrets(old)))
    made = await enrolled(before, shop)
    rotated = replace(signing, vault=Vault(read_secrets(f"{new},{old}")))
    assert await exchange(replace(signing, vault=Vault(read_secrets(new))), made.device, made.code, REQUEST) is None
    assert await exchange(rotated, made.device, made.code, REQUEST)


async def test_codes_and_devices_are_new_each_time(signing: Core, shop: Shop) -> None:
    made = [await enrolled(signing, shop) for _ in range(5)]
    assert len({one.code for one in made}) == len({one.device for one in made}) == 5


async def test_a_box_of_another_tenant_cannot_be_enrolled(signing: Core, shop: Shop, other_shop: Shop) -> None:
    assert await enroll(signing, operator(other_shop), shop.box_id) is None
    assert await enroll(signing, operator(shop), "box_nowhere") is None


async def test_a_device_that_was_never_seen_is_replaced_and_one_that_was_must_be_revoked_first(
    signing: Core, shop: Shop
) -> None:
    lost = await certified(signing, shop)  # the answer never reached the box
    again = await enrolled(signing, shop)
    assert await sql(signing, "SELECT id FROM devices WHERE box_id = $1 AND revoked_at IS NULL", shop.box_id) == [
        (again.device,)
    ]
    ((serial,),) = await sql(signing, "SELECT certificate_serial FROM devices WHERE id = $1", lost)
    assert serial in await serials(signing)
    await sql(signing, "UPDATE devices SET last_seen_at = now() WHERE id = $1", again.device)
    assert await enroll(signing, operator(shop), shop.box_id) is None
    assert await revoke(signing, operator(shop), again.device)
    assert await enroll(signing, operator(shop), shop.box_id)


async def test_a_box_never_has_two_live_devices(signing: Core, shop: Shop) -> None:
    await asyncio.gather(*(enroll(signing, operator(shop), shop.box_id) for _ in range(8)))
    live = await sql(signing, "SELECT id FROM devices WHERE box_id = $1 AND revoked_at IS NULL", shop.box_id)
    assert len(live) == 1


async def test_renewal_begins_30_days_before_the_end(signing: Core, shop: Shop) -> None:
    device = await certified(signing, shop)
    await pass_days(signing, device, 59)
    assert await renew(signing, device, REQUEST) is None
    await pass_days(signing, device, 1)
    fresh = ec.generate_private_key(ec.SECP256R1())
    chain = await renew(signing, device, request_of(fresh, "dev_c1_" + "f" * 32))
    assert chain is not None
    said = read_certificate(chain)
    assert said.device == device
    assert (said.until - datetime.now(UTC)).days in (89, 90)
    assert x509.load_pem_x509_certificate(chain.encode()).public_key() == fresh.public_key()


async def test_a_renewal_whose_answer_was_lost_may_be_asked_again_but_not_for_ever(signing: Core, shop: Shop) -> None:
    device = await certified(signing, shop)
    await pass_days(signing, device, 70)
    answers = [await renew(signing, device, REQUEST) for _ in range(CERTIFICATES + 2)]
    assert [answer is not None for answer in answers] == [True] * (CERTIFICATES - 1) + [False] * 3
    await pass_days(signing, device, 25)  # the first has ended, the others are young
    assert await renew(signing, device, REQUEST) is None
    await pass_days(signing, device, 40)
    assert await renew(signing, device, REQUEST) is not None


async def test_who_has_no_certificate_that_counts_renews_none(signing: Core, shop: Shop) -> None:
    waiting = await enrolled(signing, shop)
    assert await renew(signing, waiting.device, REQUEST) is None
    assert await renew(signing, signing.new_id("dev"), REQUEST) is None
    ended = await certified(signing, shop)
    await pass_days(signing, ended, 90)
    assert await renew(signing, ended, REQUEST) is None


async def test_a_revoked_device_renews_none(signing: Core, shop: Shop) -> None:
    device = await certified(signing, shop)
    await pass_days(signing, device, 70)
    assert await revoke(signing, operator(shop), device)
    assert await renew(signing, device, REQUEST) is None


async def test_a_tenant_revokes_its_own_devices_alone_and_once(signing: Core, shop: Shop, other_shop: Shop) -> None:
    device = await certified(signing, shop)
    assert not await revoke(signing, operator(other_shop), device)
    assert await revoke(signing, operator(shop), device)
    assert not await revoke(signing, operator(shop), device)


async def test_enrolling_and_revoking_are_audited_once_each(signing: Core, shop: Shop, other_shop: Shop) -> None:
    unseen = await enrolled(signing, shop)
    device = await enrolled(signing, shop)  # in place of the one before
    await enroll(signing, operator(shop), "box_nowhere")
    await enroll(signing, operator(other_shop), shop.box_id)
    await revoke(signing, operator(other_shop), device.device)
    assert await revoke(signing, operator(shop, "two"), device.device)
    await revoke(signing, operator(shop), device.device)
    told = "SELECT actor, action, object FROM audit WHERE tenant_id = $1 AND action LIKE 'device.%'"
    assert sorted(await sql(signing, told, shop.tenant)) == sorted(
        [
            ("one", "device.enroll", unseen.device),
            ("one", "device.revoke", unseen.device),
            ("one", "device.enroll", device.device),
            ("two", "device.revoke", device.device),
        ]
    )
    assert await sql(signing, told, other_shop.tenant) == []
    ((rows,),) = await sql(signing, "SELECT json_agg(a)::text FROM audit a WHERE tenant_id = $1", shop.tenant)
    assert device.code not in rows


async def test_the_list_names_every_certificate_of_a_revoked_device_until_it_ends(signing: Core, shop: Shop) -> None:
    device = await certified(signing, shop)
    await pass_days(signing, device, 70)
    assert await renew(signing, device, REQUEST)
    both = await sql(signing, "SELECT serial FROM device_certificates WHERE device_id = $1 ORDER BY until", device)
    (old,), (new,) = both
    assert not {old, new} & await serials(signing)
    assert await revoke(signing, operator(shop), device)
    assert {old, new} <= await serials(signing)
    await pass_days(signing, device, 21)
    assert {old, new} & await serials(signing) == {new}


async def test_without_a_signing_key_nothing_is_used_up(core: Core, signing: Core, shop: Shop) -> None:
    made = await enrolled(signing, shop)
    transport = httpx.ASGITransport(make_app(core, "memory://"))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
        answer = await ask(http, made.device, made.code)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "60")
    with pytest.raises(AuthorityMissingError, match="pickupbox box authority new"):
        await enroll(core, operator(shop), shop.box_id)
    assert await exchange(signing, made.device, made.code, REQUEST)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.BytesIO]:
    """What a process writes to standard error."""
    standard_error = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stderr", standard_error)
    start_logs("debug")
    structlog.configure(cache_logger_on_first_use=False)
    yield standard_error.buffer  # type: ignore[misc]
    structlog.reset_defaults()


async def test_no_log_line_holds_a_code_or_a_key(
    http: httpx.AsyncClient, core: Core, signing: Core, shop: Shop, written: io.BytesIO
) -> None:
    made = await enrolled(signing, shop)
    await ask(http, made.device, WRONG)
    await ask(http, made.device, made.code, "xyzzy")
    await ask(http, made.device, made.code * 9)
    without = httpx.ASGITransport(make_app(core, "memory://"))
    async with httpx.AsyncClient(transport=without, base_url="http://test") as client:
        await ask(client, made.device, made.code)
    assert (await ask(http, made.device, made.code)).status_code == 201
    text = written.getvalue().decode()
    assert text.count('"/devices/v1/certificates"') == 5
    for secret in (made.code, WRONG, SETTING[:40], "PRIVATE KEY", "xyzzy", REQUEST.splitlines()[1]):
        assert secret not in text
