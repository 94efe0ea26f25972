"""The second factor: a code works once, recovery codes work once, and nothing of it rests in the clear."""

import asyncio
from dataclasses import replace

import pyotp
import pytest
from cryptography.exceptions import InvalidTag

from pickupbox.domain.people import FREE_FAILURES, CodeRefused, RoleNotYours, SignInOver, TooManyAttempts
from pickupbox.domain.roles import Role
from pickupbox.usecases import second_factor
from pickupbox.usecases.core import Core
from pickupbox.usecases.rewrap import rewrap_for_people
from pickupbox.usecases.sessions import who
from pickupbox.usecases.sign_in import by_code, by_password
from pickupbox.vault import Vault, new_secret, read_secrets
from tests.admin.people import PASSWORD, Someone, run, someone, stranger
from tests.support.shop import Shop


@pytest.fixture
async def ada(core: Core, shop: Shop) -> Someone:
    return await someone(core, shop.tenant)


async def begun(core: Core, ada: Someone, then: str = "/") -> str:
    """A sign-in whose password was right."""
    entered = await by_password(core, ada.email, PASSWORD, stranger(), then)
    assert entered.session is None
    assert entered.sign_in is not None
    return entered.sign_in


async def test_who_has_a_second_factor_is_asked_for_it(core: Core, ada: Someone) -> None:
    app, _ = await ada.second_factor()
    token = await begun(core, ada, "/boxes")
    assert await who(core, token) is None
    session, then = await by_code(core, token, app.now(), stranger())
    visitor = await who(core, session)
    assert visitor is not None
    assert (visitor.id, visitor.second_factor, then) == (ada.id, True, "/boxes")


async def test_an_app_that_was_not_confirmed_is_not_asked_for(core: Core, ada: Someone) -> None:
    factor = await second_factor.prepare(core, ada.caller)
    assert await second_factor.prepare(core, ada.caller) == factor
    assert (await by_password(core, ada.email, PASSWORD, stranger(), "/")).session is not None
    with pytest.raises(CodeRefused):
        await second_factor.confirm(core, ada.caller, "000000")
    assert (await ada.row()).factor_since is None


async def test_a_code_works_once(core: Core, ada: Someone) -> None:
    app, _ = await ada.second_factor()
    code = app.now()
    await by_code(core, await begun(core, ada), code, stranger())
    with pytest.raises(CodeRefused):
        await by_code(core, await begun(core, ada), code, stranger())
    assert "session.refuse.second_factor" in await ada.audited()


async def test_a_code_that_two_send_at_once_works_for_one(core: Core, ada: Someone) -> None:
    app, _ = await ada.second_factor()
    first, second = await begun(core, ada), await begun(core, ada)
    outcomes = await asyncio.gather(
        *(by_code(core, token, app.now(), stranger()) for token in (first, second)), return_exceptions=True
    )
    assert sorted(isinstance(outcome, CodeRefused) for outcome in outcomes) == [False, True]


@pytest.mark.parametrize(("steps", "right"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
async def test_a_phones_clock_may_be_one_step_off(core: Core, ada: Someone, steps: int, *, right: bool) -> None:
    app, _ = await ada.second_factor()
    ((now,),) = await run(core, "SELECT extract(epoch FROM clock_timestamp())::float8")
    token, code = await begun(core, ada), app.generate_otp(int(now) // 30 + steps)
    if right:
        await by_code(core, token, code, stranger())
    else:
        with pytest.raises(CodeRefused):
            await by_code(core, token, code, stranger())


async def test_ten_recovery_codes_work_once_each(core: Core, ada: Someone) -> None:
    _, codes = await ada.second_factor()
    assert len(set(codes)) == 10
    await by_code(core, await begun(core, ada), codes[3].upper().replace("-", " "), stranger())
    with pytest.raises(CodeRefused):
        await by_code(core, await begun(core, ada), codes[3], stranger())
    await by_code(core, await begun(core, ada), codes[9], stranger())
    renewed = await second_factor.renew_codes(core, ada.caller)
    with pytest.raises(CodeRefused):
        await by_code(core, await begun(core, ada), codes[0], stranger())
    await by_code(core, await begun(core, ada), renewed[0], stranger())


async def test_guessing_codes_is_throttled_whatever_sign_in_they_are_for(core: Core, ada: Someone) -> None:
    app, _ = await ada.second_factor()
    for _ in range(FREE_FAILURES):
        with pytest.raises(CodeRefused):
            await by_code(core, await begun(core, ada), "000000", stranger())
    with pytest.raises(TooManyAttempts):
        await by_code(core, await begun(core, ada), app.now(), stranger())


async def test_a_sign_in_is_finished_once(core: Core, ada: Someone) -> None:
    _, codes = await ada.second_factor()
    token = await begun(core, ada)
    await by_code(core, token, codes[0], stranger())
    with pytest.raises(SignInOver):
        await by_code(core, token, codes[1], stranger())


async def test_neither_secret_nor_recovery_code_rests_in_the_clear(core: Core, ada: Someone) -> None:
    app, codes = await ada.second_factor()
    ((row,),) = await run(core, "SELECT u::text FROM users u WHERE id = $1", ada.id)
    for secret in (app.secret, *codes):
        assert secret not in row
        assert secret.encode().hex() not in row


async def test_a_sealed_factor_that_is_copied_to_somebody_else_does_not_open(core: Core, shop: Shop) -> None:
    ada, eve = await someone(core, shop.tenant), await someone(core, shop.tenant)
    await ada.second_factor()
    stolen = replace(await eve.row(), factor=(await ada.row()).factor)
    with pytest.raises(InvalidTag):
        second_factor.factor_of(core, stolen)


async def test_second_factors_outlive_a_rotation_of_the_secrets(core: Core, ada: Someone) -> None:
    app, codes = await ada.second_factor()
    new = read_secrets(new_secret("k2"))[0]
    during = replace(core, vault=Vault([new, core.vault.current]))
    after = replace(core, vault=Vault([new]))
    assert await rewrap_for_people(during) > 0
    assert await rewrap_for_people(during) == 0
    await by_code(after, await begun(after, ada), app.now(), stranger())
    await by_code(after, await begun(after, ada), codes[0], stranger())
    # And back, for the tests that follow.
    await rewrap_for_people(replace(core, vault=Vault([core.vault.current, new])))


async def test_who_lost_the_phone_is_helped_by_those_who_manage_the_team(core: Core, shop: Shop, ada: Someone) -> None:
    otto, wim = await someone(core, shop.tenant, Role.ADMINISTRATOR), await someone(core, shop.tenant, Role.VIEWER)
    await ada.second_factor()
    await wim.second_factor()
    with pytest.raises(RoleNotYours):
        await second_factor.take_off(core, otto.caller, Role.ADMINISTRATOR, ada.id)
    with pytest.raises(RoleNotYours):
        await second_factor.take_off(core, wim.caller, Role.VIEWER, ada.id)
    await second_factor.take_off(core, otto.caller, Role.ADMINISTRATOR, wim.id)
    assert (await wim.row()).factor_since is None
    assert (await ada.row()).factor_since is not None
    assert await run(core, "SELECT kind FROM mails WHERE recipient = $1", wim.email) == [("second_factor_removed",)]


async def test_the_app_reads_who_and_where(core: Core, ada: Someone) -> None:
    factor = await second_factor.prepare(core, ada.caller)
    read = pyotp.parse_uri(factor.uri(ada.email))
    assert (read.secret, read.name, read.issuer) == (factor.secret, ada.email, "Pickupbox")
