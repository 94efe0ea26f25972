"""What the tests of integrations and audit share: an administrator, what a page says, what was noted."""

import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from pickupbox.admin.app import make_app
from pickupbox.domain.roles import Role
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from tests.admin.office import Office, Person
from tests.admin.people import run
from tests.support.shop import Shop

TAG = re.compile(r"<[^>]+>")


def words(text: str) -> str:
    """What a page says, without its tags."""
    return " ".join(html.unescape(TAG.sub(" ", text)).split())


async def administrator(office: Office) -> Person:
    """Someone who just confirmed who they are."""
    person = await office.sign_in(Role.ADMINISTRATOR)
    await person.step_up()
    return person


async def noted(core: Core, obj: str) -> list[tuple[str, str]]:
    """Who did what to an object, in order."""
    return await run(core, "SELECT actor, action FROM audit WHERE object = $1 ORDER BY id", obj)


@asynccontextmanager
async def on_this_machine(office: Office, settings: Settings) -> AsyncIterator[tuple[Office, Shop]]:
    """The same office where webhooks may go to this machine."""
    core = replace(office.core, webhook_loopback=True)
    local = Office(core, make_app(core, settings), replace(office.shop, core=core))
    yield local, local.shop
    for person in local.people:
        await person.http.aclose()
