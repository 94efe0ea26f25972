"""Every role at every page: allowed or refused exactly as the table says."""

import re

import pytest

from pickupbox.admin.live import Hub, page
from pickupbox.admin.pages import PAGES
from pickupbox.domain.roles import Role
from pickupbox.usecases.core import Core
from tests.admin.allowed import ALLOWED
from tests.admin.office import Office, Person

# Pages that strangers may see: how one comes in.
OPEN = frozenset(
    (one.method, one.path) for one in PAGES if one.path.startswith(("/sign-in", "/second-factor", "/forgot", "/link/"))
)


def test_the_table_has_every_page_and_no_other(core: Core) -> None:
    served = {(one.method, one.path) for one in [*PAGES, page(Hub(core))]}
    assert served - OPEN == set(ALLOWED)


def test_only_the_ways_in_are_open_to_strangers() -> None:
    assert {(one.method, one.path) for one in PAGES if one.act is None} <= OPEN


@pytest.mark.parametrize("role", list(Role))
async def test_each_role_may_do_what_the_table_says_and_nothing_else(office: Office, role: Role) -> None:
    person = await office.sign_in(role)
    await person.step_up()
    found = {}
    # Who signs out is nobody afterwards: that comes last.
    for method, path in sorted(ALLOWED, key=lambda page: page == ("POST", "/sign-out")):
        status = await _status(person, method, _filled(path))
        found[method, path] = status != 403
    assert found == {key: role in roles for key, roles in ALLOWED.items()}


async def test_a_stranger_is_led_to_the_sign_in_from_every_page(office: Office) -> None:
    stranger = office.stranger()
    for method, path in ALLOWED:
        answer = await (stranger.get if method == "GET" else stranger.post)(_filled(path))
        assert (answer.status_code, answer.headers.get("location", "").partition("?")[0]) == (303, "/sign-in"), path


def _filled(path: str) -> str:
    """The path with things that do not exist: whoever may ask is told so, whoever may not is refused before."""
    return re.sub(r"\{[a-z_:]+\}", "nothing_there", path)


async def _status(person: Person, method: str, path: str) -> int:
    return (await (person.get if method == "GET" else person.post)(path)).status_code
