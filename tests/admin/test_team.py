"""The team: who is in, who may change whom, and always an owner."""

import asyncio

import pytest

from pickupbox.domain.people import (
    EmailTaken,
    InvalidEmail,
    InvalidName,
    InvalidPassword,
    LastOwner,
    LinkNotValid,
    PersonNotFound,
    RoleNotYours,
    email_of,
)
from pickupbox.domain.roles import Role
from pickupbox.usecases import links
from pickupbox.usecases.core import Core
from pickupbox.usecases.sign_in import by_password
from pickupbox.usecases.team import add_user, change_role, invite, invite_again, list_team, remove_user
from tests.admin.people import PASSWORD, Someone, link_in_mail, run, someone, stranger
from tests.support.shop import Shop


@pytest.fixture
async def ada(core: Core, shop: Shop) -> Someone:
    return await someone(core, shop.tenant)


def fresh(core: Core) -> str:
    return f"{core.new_id('new')}@firm.test"


async def test_an_invited_person_chooses_name_and_password_by_the_link(core: Core, ada: Someone) -> None:
    email = fresh(core)
    made = await invite(core, ada.caller, Role.OWNER, email.upper(), "Wim", Role.VIEWER)
    token = await link_in_mail(core, email)
    assert made.url == f"{core.admin_url}/link/{token}"
    opened = await links.use(core, token, "Wim Wenders", PASSWORD, None)
    assert (opened.purpose, opened.user.id) == (links.Purpose.INVITATION, made.user_id)
    assert (await by_password(core, email, PASSWORD, stranger(), "/")).session is not None
    (wim,) = [one for one in await list_team(core, ada.tenant) if one.id == made.user_id]
    assert (wim.name, wim.role, wim.email) == ("Wim Wenders", Role.VIEWER, email)
    actions = await run(core, "SELECT action, actor FROM audit WHERE object = $1 ORDER BY id", wim.id)
    assert actions[:2] == [("user.invite.viewer", ada.id), ("user.invitation.use", wim.id)]


@pytest.mark.parametrize(("hours", "valid"), [(7 * 24 - 1, True), (7 * 24 + 1, False)])
async def test_an_invitation_lives_for_seven_days(core: Core, ada: Someone, hours: int, *, valid: bool) -> None:
    email = fresh(core)
    made = await invite(core, ada.caller, Role.OWNER, email, "Wim", Role.VIEWER)
    await run(
        core, "UPDATE links SET until = until - make_interval(hours => $2) WHERE user_id = $1", made.user_id, hours
    )
    token = await link_in_mail(core, email)
    if valid:
        await links.use(core, token, "Wim", PASSWORD, None)
    else:
        with pytest.raises(LinkNotValid):
            await links.use(core, token, "Wim", PASSWORD, None)


async def test_an_invitation_that_is_sent_again_voids_the_one_before(core: Core, ada: Someone) -> None:
    email = fresh(core)
    made = await invite(core, ada.caller, Role.OWNER, email, "Wim", Role.VIEWER)
    first = await link_in_mail(core, email)
    await invite_again(core, ada.caller, Role.OWNER, made.user_id)
    second = await link_in_mail(core, email)
    assert first != second
    with pytest.raises(LinkNotValid):
        await links.look_at(core, first)
    await links.use(core, second, None, PASSWORD, None)
    with pytest.raises(PersonNotFound):
        await invite_again(core, ada.caller, Role.OWNER, made.user_id)


async def test_an_email_is_one_persons_in_all_tenants(core: Core, ada: Someone, other_shop: Shop) -> None:
    for tenant in (ada.tenant, other_shop.tenant):
        with pytest.raises(EmailTaken):
            await add_user(core, tenant, ada.email.upper(), "Eve", Role.VIEWER, PASSWORD)


async def test_who_was_removed_can_be_invited_anew_and_the_old_row_stays(core: Core, ada: Someone) -> None:
    wim = await someone(core, ada.tenant, Role.VIEWER)
    await remove_user(core, ada.caller, Role.OWNER, wim.id)
    again = await invite(core, ada.caller, Role.OWNER, wim.email, "Wim", Role.VIEWER)
    assert again.user_id != wim.id
    rows = await run(core, "SELECT id, password_hash IS NULL FROM users WHERE email = $1 ORDER BY id", wim.email)
    assert rows == [(wim.id, True), (again.user_id, True)]


async def test_the_last_owner_stays_an_owner(core: Core, ada: Someone) -> None:
    await invite(core, ada.caller, Role.OWNER, fresh(core), "Not yet in", Role.OWNER)
    for act in (
        change_role(core, ada.caller, Role.OWNER, ada.id, Role.VIEWER),
        remove_user(core, ada.caller, Role.OWNER, ada.id),
    ):
        with pytest.raises(LastOwner):
            await act


async def test_two_owners_who_remove_each_other_at_once_do_not_both_succeed(core: Core, ada: Someone) -> None:
    bob = await someone(core, ada.tenant)
    outcomes = await asyncio.gather(
        remove_user(core, ada.caller, Role.OWNER, bob.id),
        remove_user(core, bob.caller, Role.OWNER, ada.id),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes].count(LastOwner) == 1
    assert len(await list_team(core, ada.tenant)) == 1


async def test_only_an_owner_makes_or_unmakes_owners(core: Core, ada: Someone) -> None:
    otto, wim = await someone(core, ada.tenant, Role.ADMINISTRATOR), await someone(core, ada.tenant, Role.VIEWER)
    for act in (
        invite(core, otto.caller, Role.ADMINISTRATOR, fresh(core), "Eve", Role.OWNER),
        change_role(core, otto.caller, Role.ADMINISTRATOR, wim.id, Role.OWNER),
        change_role(core, otto.caller, Role.ADMINISTRATOR, ada.id, Role.VIEWER),
        remove_user(core, otto.caller, Role.ADMINISTRATOR, ada.id),
        change_role(core, wim.caller, Role.VIEWER, otto.id, Role.VIEWER),
    ):
        with pytest.raises(RoleNotYours):
            await act
    await change_role(core, otto.caller, Role.ADMINISTRATOR, wim.id, Role.OPERATOR)
    await change_role(core, ada.caller, Role.OWNER, otto.id, Role.OWNER)
    assert "user.role.administrator.owner" in await otto.audited()


async def test_another_tenants_people_are_not_there(core: Core, ada: Someone, other_shop: Shop) -> None:
    eve = await someone(core, other_shop.tenant)
    for act in (
        change_role(core, eve.caller, Role.OWNER, ada.id, Role.VIEWER),
        remove_user(core, eve.caller, Role.OWNER, ada.id),
        invite_again(core, eve.caller, Role.OWNER, ada.id),
    ):
        with pytest.raises(PersonNotFound):
            await act
    assert [one.id for one in await list_team(core, ada.tenant)] == [ada.id]


@pytest.mark.parametrize(
    "text",
    ["", "ada", "ada@", "@firm.test", "ada@firm", "a da@firm.test", "ada@firm..test", "ada@firm.test\nBcc: x@y.z"],
)
async def test_what_is_no_email_is_refused(core: Core, shop: Shop, text: str) -> None:
    with pytest.raises(InvalidEmail):
        await add_user(core, shop.tenant, text, "Ada", Role.VIEWER, PASSWORD)


def test_an_email_is_kept_in_small_letters() -> None:
    assert email_of("  Ada.Lovelace+box@Firm.Example ") == "ada.lovelace+box@firm.example"


@pytest.mark.parametrize("name", ["", " ", "a" * 101, "Ada\x00"])
async def test_what_is_no_name_is_refused(core: Core, shop: Shop, name: str) -> None:
    with pytest.raises(InvalidName):
        await add_user(core, shop.tenant, fresh(core), name, Role.VIEWER, PASSWORD)


@pytest.mark.parametrize("password", ["elevenchars", "x" * 129])
async def test_a_password_has_12_to_128_characters(core: Core, shop: Shop, password: str) -> None:
    with pytest.raises(InvalidPassword):
        await add_user(core, shop.tenant, fresh(core), "Ada", Role.VIEWER, password)
