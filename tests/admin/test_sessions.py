"""Sessions: a token in a cookie, a hash at rest, an end by PostgreSQL's clock."""

import hashlib

import pytest

from pickupbox.domain.errors import NotFound
from pickupbox.domain.roles import Role
from pickupbox.usecases import sessions
from pickupbox.usecases.core import Core
from pickupbox.usecases.sessions import begin, end, end_one, end_others, list_mine, step_up, who
from pickupbox.usecases.team import change_role, remove_user
from tests.admin.people import run, someone
from tests.support.shop import Shop


async def moved(core: Core, token: str, column: str, interval: str) -> None:
    await run(
        core,
        f"UPDATE sessions SET {column} = {column} - interval '{interval}' WHERE hash = $1",
        sessions.hash_of(token),
    )


async def test_a_session_says_who_is_there(core: Core, shop: Shop) -> None:
    ada = await someone(core, shop.tenant, Role.OPERATOR)
    visitor = await who(core, await begin(core, ada.id, "192.0.2.1", "a browser"))
    assert visitor is not None
    assert (visitor.tenant, visitor.tenant_name, visitor.id, visitor.email) == (
        shop.tenant,
        "Test shop",
        ada.id,
        ada.email,
    )
    assert (visitor.name, visitor.role, visitor.locale) == ("Ada Example", Role.OPERATOR, None)
    assert (visitor.stepped_up, visitor.second_factor) == (False, False)
    assert "session.begin.password" in await ada.audited()


async def test_the_token_itself_is_nowhere_in_the_database(core: Core, shop: Shop) -> None:
    ada = await someone(core, shop.tenant)
    token = await begin(core, ada.id, None, None)
    ((kept, row),) = await run(core, "SELECT hash, s::text FROM sessions s WHERE user_id = $1", ada.id)
    assert kept == hashlib.sha256(token.encode()).digest()
    assert token not in row
    assert len(token) >= 43


async def test_an_unknown_token_is_nobody(core: Core) -> None:
    assert await who(core, "nobody") is None
    assert await who(core, "\x00\ud800".encode("utf-8", "replace").decode()) is None


@pytest.mark.parametrize(
    ("column", "interval", "there"),
    [
        ("seen_at", "29 minutes 50 seconds", True),
        ("seen_at", "30 minutes 1 second", False),
        ("begun_at", "11 hours 59 minutes", True),
        ("begun_at", "12 hours 1 second", False),
    ],
)
async def test_a_session_ends_after_30_minutes_idle_or_12_hours(
    core: Core, shop: Shop, column: str, interval: str, *, there: bool
) -> None:
    token = await begin(core, (await someone(core, shop.tenant)).id, None, None)
    await moved(core, token, column, interval)
    assert (await who(core, token) is not None) == there
    # A second look does not wake what was over.
    assert (await who(core, token) is not None) == there


async def test_a_visit_keeps_a_session_alive_and_is_written_once_a_minute(core: Core, shop: Shop) -> None:
    token = await begin(core, (await someone(core, shop.tenant)).id, None, None)

    async def seen() -> object:
        return await run(core, "SELECT seen_at FROM sessions WHERE hash = $1", sessions.hash_of(token))

    first = await seen()
    await who(core, token)
    assert await seen() == first
    await moved(core, token, "seen_at", "20 minutes")
    await who(core, token)
    await moved(core, token, "seen_at", "20 minutes")
    assert await who(core, token) is not None


async def test_a_page_that_asks_by_itself_keeps_no_session_alive(core: Core, shop: Shop) -> None:
    token = await begin(core, (await someone(core, shop.tenant)).id, None, None)
    await moved(core, token, "seen_at", "20 minutes")
    assert await who(core, token, in_use=False) is not None
    await moved(core, token, "seen_at", "20 minutes")
    assert await who(core, token) is None


async def test_a_step_up_counts_for_five_minutes(core: Core, shop: Shop) -> None:
    ada = await someone(core, shop.tenant)
    token = await begin(core, ada.id, None, None)
    visitor = await who(core, token)
    assert visitor is not None
    await step_up(core, visitor)
    again = await who(core, token)
    assert again is not None
    assert again.stepped_up
    await moved(core, token, "stepped_up_at", "5 minutes 1 second")
    later = await who(core, token)
    assert later is not None
    assert not later.stepped_up
    assert "session.step_up" in await ada.audited()


async def test_a_session_can_be_ended_and_so_can_all_others(core: Core, shop: Shop) -> None:
    ada = await someone(core, shop.tenant)
    first, second, third = [await begin(core, ada.id, None, None) for _ in range(3)]
    visitor = await who(core, first)
    assert visitor is not None
    await end(core, visitor)
    assert await who(core, first) is None
    assert await who(core, second) is not None
    mine = await who(core, second)
    assert mine is not None
    await end_others(core, ada.caller, mine)
    assert await who(core, second) is not None
    assert await who(core, third) is None


async def test_one_ends_ones_own_sessions_and_no_other(core: Core, shop: Shop) -> None:
    ada, bob = await someone(core, shop.tenant), await someone(core, shop.tenant)
    token = await begin(core, ada.id, None, None)
    (mine,) = await list_mine(core, ada.tenant, ada.id)
    with pytest.raises(NotFound):
        await end_one(core, bob.caller, mine.id)
    assert await who(core, token) is not None
    await end_one(core, ada.caller, mine.id)
    assert await who(core, token) is None


async def test_who_is_removed_is_out_at_once(core: Core, shop: Shop) -> None:
    boss, ada = await someone(core, shop.tenant), await someone(core, shop.tenant, Role.VIEWER)
    token = await begin(core, ada.id, None, None)
    await remove_user(core, boss.caller, Role.OWNER, ada.id)
    assert await who(core, token) is None
    with pytest.raises(NotFound):
        await begin(core, ada.id, None, None)


async def test_a_session_of_someone_removed_is_nobodys_even_if_it_is_left(core: Core, shop: Shop) -> None:
    ada = await someone(core, shop.tenant)
    token = await begin(core, ada.id, None, None)
    await run(core, "UPDATE users SET removed_at = now() WHERE id = $1", ada.id)
    assert await who(core, token) is None


async def test_a_new_role_counts_at_the_next_request(core: Core, shop: Shop) -> None:
    boss, ada = await someone(core, shop.tenant), await someone(core, shop.tenant, Role.VIEWER)
    token = await begin(core, ada.id, None, None)
    await change_role(core, boss.caller, Role.OWNER, ada.id, Role.OPERATOR)
    visitor = await who(core, token)
    assert visitor is not None
    assert visitor.role is Role.OPERATOR
