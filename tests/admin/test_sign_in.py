"""Signing in by e-mail and password: one answer for all that is wrong, and waits for who guesses."""

import asyncio
import time

import pytest

from pickupbox.domain.people import (
    FREE_FAILURES,
    FREE_FAILURES_OF_AN_ADDRESS,
    CodeRefused,
    InvalidPassword,
    LinkNotValid,
    SignInOver,
    SignInRefused,
    TooManyAttempts,
    seconds_closed,
)
from pickupbox.domain.roles import Role
from pickupbox.usecases import attempts, links, sign_in
from pickupbox.usecases.account import change_password
from pickupbox.usecases.core import Core
from pickupbox.usecases.passwords import is_password
from pickupbox.usecases.sessions import begin, who
from pickupbox.usecases.sign_in import Stranger, by_password, confirm
from pickupbox.usecases.team import remove_user
from tests.admin.people import PASSWORD, Someone, link_in_mail, run, someone, stranger
from tests.support.shop import Shop

NEW_PASSWORD = "quite another long password"


@pytest.fixture
async def ada(core: Core, shop: Shop) -> Someone:
    return await someone(core, shop.tenant)


async def tried(core: Core, email: str, password: str, whoever: Stranger | None = None) -> str:
    """In a word, what came of it."""
    try:
        entered = await by_password(core, email, password, whoever or stranger(), "/")
    except (SignInRefused, TooManyAttempts) as refusal:
        return refusal.code
    return "in" if entered.session else "second factor"


async def pass_time(core: Core, seconds: int) -> None:
    await run(core, "UPDATE sign_in_attempts SET closed_until = closed_until - make_interval(secs => $1)", seconds)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refusals take as long as they take."""
    monkeypatch.setattr(sign_in, "REFUSAL_SECONDS", 0)


async def test_the_right_password_begins_a_session(core: Core, ada: Someone) -> None:
    entered = await by_password(core, ada.email, PASSWORD, stranger(), "/")
    assert entered.session is not None
    visitor = await who(core, entered.session)
    assert visitor is not None
    assert visitor.id == ada.id


async def test_a_wrong_password_and_an_unknown_email_get_the_same_answer_in_the_same_time(
    core: Core, ada: Someone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_in, "REFUSAL_SECONDS", 3.0)  # longer than a hash takes on a busy machine

    async def refused(email: str) -> tuple[str, float]:
        began = time.perf_counter()
        with pytest.raises(SignInRefused) as refusal:
            await by_password(core, email, "not the password", stranger(), "/")
        return str(refusal.value), time.perf_counter() - began

    known, unknown = await refused(ada.email), await refused("nobody.at.all@firm.test")
    assert known[0] == unknown[0]
    for _, seconds in (known, unknown):
        assert 3 <= seconds < 4
    assert "session.refuse.password" in await ada.audited()


async def test_an_email_that_nobody_has_costs_a_hash_too(ada: Someone) -> None:
    kept = (await ada.row()).password_hash

    async def seconds(kept: str | None) -> float:
        began = time.perf_counter()
        assert not await is_password("wrong", kept)
        return time.perf_counter() - began

    known, unknown = min([await seconds(kept) for _ in range(5)]), min([await seconds(None) for _ in range(5)])
    assert 0.5 < known / unknown < 2


async def test_the_password_is_kept_as_argon2id_of_rfc_9106(ada: Someone) -> None:
    kept = (await ada.row()).password_hash
    assert kept is not None
    assert kept.startswith("$argon2id$v=19$m=65536,t=3,p=4$")


async def test_letters_count_alike_however_they_were_composed(core: Core, shop: Shop, quick: None) -> None:
    ada = await someone(core, shop.tenant)
    await change_password(core, ada.caller, await ada.session(), PASSWORD, "pässword of some length")
    assert await tried(core, ada.email, "pa\u0308ssword of some length") == "in"


async def test_five_failures_are_free_then_even_the_right_password_waits(core: Core, ada: Someone, quick: None) -> None:
    for _ in range(FREE_FAILURES):
        assert await tried(core, ada.email, "wrong") == "sign_in_refused"
    assert await tried(core, ada.email, PASSWORD) == "too_many_attempts"
    await pass_time(core, 6)
    assert await tried(core, ada.email, "wrong") == "sign_in_refused"
    await pass_time(core, 6)
    assert await tried(core, ada.email, PASSWORD) == "too_many_attempts"
    await pass_time(core, 6)
    assert await tried(core, ada.email, PASSWORD) == "in"
    # A success forgets what was before.
    assert await tried(core, ada.email, "wrong") == "sign_in_refused"
    assert await tried(core, ada.email, PASSWORD) == "in"


async def test_an_unknown_email_is_throttled_as_a_known_one(core: Core, quick: None) -> None:
    email = f"nobody.{core.new_id('x')}@firm.test"
    answers = [await tried(core, email, "wrong") for _ in range(FREE_FAILURES + 1)]
    assert answers == ["sign_in_refused"] * FREE_FAILURES + ["too_many_attempts"]


async def test_one_address_is_throttled_whatever_the_emails(core: Core, ada: Someone, quick: None) -> None:
    address = stranger()
    for number in range(FREE_FAILURES_OF_AN_ADDRESS):
        assert await tried(core, f"{number}.{ada.email}", "wrong", address) == "sign_in_refused"
    assert await tried(core, ada.email, PASSWORD, address) == "too_many_attempts"
    assert await tried(core, ada.email, PASSWORD) == "in"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("192.0.2.7", "::ffff:192.0.2.7", True),
        ("192.0.2.7", "192.0.2.8", False),
        (None, "unknown", True),
        ("not an address", "nor this", False),
    ],
)
def test_an_address_is_what_one_subscriber_has(one: str | None, other: str, *, same: bool) -> None:
    for counted in (attempts.of_address, attempts.of_reset_address, attempts.of_provider_address):
        assert (counted(one) == counted(other)) == same


async def test_an_address_that_must_wait_writes_nothing(core: Core, ada: Someone, quick: None) -> None:
    address = stranger()
    for number in range(FREE_FAILURES_OF_AN_ADDRESS):
        await tried(core, f"{number}.{ada.email}", "wrong", address)
    emails = [f"more.{number}.{ada.email}" for number in range(3)]
    for email in emails:
        assert await tried(core, email, "wrong", address) == "too_many_attempts"
    written = await run(
        core,
        "SELECT FROM sign_in_attempts WHERE hash = ANY ($1::bytea[])",
        [attempts.of_email(email).hash for email in emails],
    )
    assert written == []


async def test_a_known_password_buys_no_guesses_at_others_of_the_same_address(
    core: Core, ada: Someone, quick: None
) -> None:
    address = stranger()
    for number in range(FREE_FAILURES_OF_AN_ADDRESS - 1):
        assert await tried(core, f"{number}.{ada.email}", "wrong", address) == "sign_in_refused"
    assert await tried(core, ada.email, PASSWORD, address) == "in"
    assert await tried(core, f"another.{ada.email}", "wrong", address) == "sign_in_refused"
    assert await tried(core, ada.email, PASSWORD, address) == "too_many_attempts"


async def test_many_attempts_at_once_gain_nothing(core: Core, ada: Someone, quick: None) -> None:
    answers = await asyncio.gather(*(tried(core, ada.email, "wrong") for _ in range(20)))
    assert answers.count("sign_in_refused") == FREE_FAILURES
    assert answers.count("too_many_attempts") == 20 - FREE_FAILURES


def test_waits_grow_to_a_quarter_of_an_hour() -> None:
    assert [seconds_closed(failures, 5) for failures in (4, 5, 6, 7, 12, 13, 500)] == [0, 5, 10, 20, 640, 900, 900]


async def test_a_throttled_attempt_is_told_when_to_come_back(core: Core, ada: Someone, quick: None) -> None:
    for _ in range(FREE_FAILURES):
        await tried(core, ada.email, "wrong")
    with pytest.raises(TooManyAttempts) as refusal:
        await by_password(core, ada.email, "wrong", stranger(), "/")
    assert refusal.value.retry_after is not None
    assert 0 < refusal.value.retry_after <= 5


async def test_a_reset_link_works_once_and_ends_all_sessions(core: Core, ada: Someone, quick: None) -> None:
    session = await begin(core, ada.id, None, None)
    await links.ask_for_reset(core, ada.email, stranger().address)
    token = await link_in_mail(core, ada.email)
    assert (await links.look_at(core, token)).purpose is links.Purpose.RESET
    assert (await links.look_at(core, token)).user.id == ada.id
    await links.use(core, token, None, NEW_PASSWORD, None)
    assert await who(core, session) is None
    assert await tried(core, ada.email, PASSWORD) == "sign_in_refused"
    assert await tried(core, ada.email, NEW_PASSWORD) == "in"
    for again in (links.look_at(core, token), links.use(core, token, None, PASSWORD, None)):
        with pytest.raises(LinkNotValid):
            await again
    assert {"user.reset.ask", "user.reset.use"} <= set(await ada.audited())


async def test_a_link_that_two_use_at_once_works_for_one(core: Core, ada: Someone) -> None:
    await links.ask_for_reset(core, ada.email, stranger().address)
    token = await link_in_mail(core, ada.email)
    outcomes = await asyncio.gather(
        *(links.use(core, token, None, f"{NEW_PASSWORD} {n}", None) for n in range(4)), return_exceptions=True
    )
    assert [isinstance(outcome, LinkNotValid) for outcome in outcomes].count(False) == 1


async def test_a_password_that_is_too_short_uses_up_no_link(core: Core, ada: Someone) -> None:
    await links.ask_for_reset(core, ada.email, stranger().address)
    token = await link_in_mail(core, ada.email)
    with pytest.raises(InvalidPassword):
        await links.use(core, token, None, "short", None)
    assert (await links.look_at(core, token)).user.id == ada.id


@pytest.mark.parametrize(("minutes", "valid"), [(59, True), (61, False)])
async def test_a_reset_link_lives_for_an_hour(core: Core, ada: Someone, minutes: int, *, valid: bool) -> None:
    await links.ask_for_reset(core, ada.email, stranger().address)
    token = await link_in_mail(core, ada.email)
    await run(core, "UPDATE links SET until = until - make_interval(mins => $2) WHERE user_id = $1", ada.id, minutes)
    if valid:
        await links.look_at(core, token)
    else:
        with pytest.raises(LinkNotValid):
            await links.use(core, token, None, NEW_PASSWORD, None)


async def test_asking_for_a_reset_says_nothing_of_who_is_there(core: Core, ada: Someone) -> None:
    async def seconds(email: str) -> float:
        began = time.perf_counter()
        await links.ask_for_reset(core, email, stranger().address)
        return time.perf_counter() - began

    assert min(await seconds(ada.email), await seconds("nobody.knows@firm.test")) >= links.ANSWER_SECONDS
    assert await run(core, "SELECT FROM mails WHERE recipient = 'nobody.knows@firm.test'") == []


async def test_a_mailbox_is_not_flooded_with_resets(core: Core, ada: Someone) -> None:
    for _ in range(FREE_FAILURES):
        await links.ask_for_reset(core, ada.email, stranger().address)
    with pytest.raises(TooManyAttempts):
        await links.ask_for_reset(core, ada.email, stranger().address)


async def test_no_link_is_in_the_database_in_the_clear(core: Core, ada: Someone) -> None:
    await links.ask_for_reset(core, ada.email, stranger().address)
    token = await link_in_mail(core, ada.email)
    for table in ("links", "mails", "audit"):
        for (row,) in await run(core, f"SELECT t::text FROM {table} t WHERE tenant_id = $1", ada.tenant):
            assert token not in row
            assert token.encode().hex() not in row


async def test_who_changes_the_password_keeps_this_session_and_loses_the_others(
    core: Core, ada: Someone, quick: None
) -> None:
    other, mine = await begin(core, ada.id, None, None), await begin(core, ada.id, None, None)
    visitor = await who(core, mine)
    assert visitor is not None
    with pytest.raises(SignInRefused):
        await change_password(core, ada.caller, visitor, "wrong", NEW_PASSWORD)
    assert await who(core, other) is not None
    await change_password(core, ada.caller, visitor, PASSWORD, NEW_PASSWORD)
    assert (await who(core, mine) is not None, await who(core, other)) == (True, None)
    assert await tried(core, ada.email, NEW_PASSWORD) == "in"


async def test_a_step_up_takes_the_password_or_a_code_and_nothing_else(core: Core, ada: Someone) -> None:
    app, _ = await ada.second_factor()
    token = await begin(core, ada.id, None, None)

    async def stepped_up() -> bool:
        visitor = await who(core, token)
        assert visitor is not None
        return visitor.stepped_up

    visitor = await ada.session()
    with pytest.raises(SignInRefused):
        await confirm(core, visitor, "wrong", "", None)
    with pytest.raises(CodeRefused):
        await confirm(core, visitor, "", "000000", None)
    with pytest.raises(SignInRefused):
        await confirm(core, visitor, "", "", None)
    assert "session.refuse.step_up" in await ada.audited()
    mine = await who(core, token)
    assert mine is not None
    await confirm(core, mine, "", app.now(), None)
    assert await stepped_up()
    await run(core, "UPDATE sessions SET stepped_up_at = NULL WHERE user_id = $1", ada.id)
    assert not await stepped_up()
    await confirm(core, mine, PASSWORD, "", None)
    assert await stepped_up()


async def test_a_sign_in_under_way_ends_after_ten_minutes(core: Core, ada: Someone) -> None:
    app, _ = await ada.second_factor()
    entered = await by_password(core, ada.email, PASSWORD, stranger(), "/")
    assert entered.sign_in is not None
    await run(core, "UPDATE sign_ins SET begun_at = begun_at - interval '11 minutes' WHERE user_id = $1", ada.id)
    with pytest.raises(SignInOver):
        await sign_in.by_code(core, entered.sign_in, app.now(), stranger())


async def test_who_was_removed_does_not_come_in_again(core: Core, shop: Shop, ada: Someone, quick: None) -> None:
    viewer = await someone(core, shop.tenant, Role.VIEWER)
    await remove_user(core, ada.caller, Role.OWNER, viewer.id)
    assert await tried(core, viewer.email, PASSWORD) == "sign_in_refused"
