"""Gateways share what boxes say: under one name, which a rotation of the secrets does not change."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import pytest_asyncio
from alembic import command
from alembic.config import Config

from pickupbox.database import deployments, schema
from pickupbox.database.deployments import Deployment
from pickupbox.devices.messages import Open, PinAnswer, PinEntered
from pickupbox.domain.doors import Verdict
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core, open_core
from pickupbox.vault import Vault, new_secret, read_secrets
from tests.devices.street import add_device, ask, box_at, gateway, pin_of, wrong_pin
from tests.support.databases import SERVER_URL
from tests.support.shop import Shop
from tests.support.waiting import until


async def test_two_gateways_in_the_midst_of_a_rotation_judge_a_pin_once(
    shop: Shop, core: Core, settings: Settings, on_broker: Settings
) -> None:
    old, new = *settings.vault_secrets(), *read_secrets(new_secret("k2"))
    before, after = replace(core, vault=Vault([old, new])), replace(core, vault=Vault([new, old]))
    pin = await pin_of(shop, await shop.reserved())
    async with (
        gateway(before, on_broker) as one,
        gateway(after, on_broker) as other,
        box_at(on_broker, await add_device(shop)) as box,
    ):
        await box.beat()
        await until(lambda: one._mqtt and other._mqtt)
        await asyncio.sleep(0.5)  # until both have subscribed
        refused = await box.hear(PinAnswer, about=await box.say(PinEntered, pin=wrong_pin(pin)))
        opening = await box.hear(PinAnswer, about=await box.say(PinEntered, pin=pin))
        assert (refused.verdict, opening.verdict) == (Verdict.REFUSED, Verdict.OPENING)
        await box.beat()
        assert box.heard(PinAnswer) == []
        assert len(box.heard(Open)) == 1
    assert await ask(core, "SELECT count(*) FROM door_commands WHERE box_id = $1", shop.box_id) == [(1,)]
    assert await ask(core, "SELECT day_failures FROM keypads WHERE box_id = $1", shop.box_id) == [(1,)]


@pytest_asyncio.fixture
async def deployed_before() -> AsyncIterator[str]:
    """A database of revision 0010 that was declared by that version."""
    name = f"pickupbox_test_{secrets.token_hex(4)}"
    await schema.create_database(SERVER_URL, name)
    url = schema.url_of(SERVER_URL, name)
    await asyncio.to_thread(migrate_to_0010, url)
    await execute(url, "INSERT INTO deployment (environment, cell) VALUES ('sandbox', 'c1')")
    yield url
    await schema.drop_database(SERVER_URL, name)


def migrate_to_0010(url: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(schema.__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    config.attributes["url"] = urlunsplit(urlsplit(url)._replace(scheme="postgresql+psycopg"))
    command.upgrade(config, "0010")


async def execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()


async def test_after_an_upgrade_the_first_name_is_kept_and_the_version_before_runs_on(
    deployed_before: str, settings: Settings
) -> None:
    await asyncio.to_thread(schema.migrate, deployed_before)
    core = open_core(settings.model_copy(update={"database_url": deployed_before}))
    async with core.db.connection() as connection:
        assert await deployments.read(connection) == Deployment("sandbox", "c1", None)
        first = core.vault.gateway_group()  # as the version before calls it
        assert await deployments.keep_gateway_group(connection, first) == first
        assert await deployments.keep_gateway_group(connection, "of the next secret") == first
    await core.db.close()
    await execute(
        deployed_before, "INSERT INTO deployment (environment, cell) VALUES ('sandbox', 'c1') ON CONFLICT DO NOTHING"
    )


async def test_gateways_that_start_together_agree_on_one_name(core: Core) -> None:
    async def name(offered: str) -> str:
        async with core.db.connection() as connection:
            return await deployments.keep_gateway_group(connection, offered)

    async with core.db.connection() as connection:
        await connection.execute("UPDATE deployment SET gateway_group = NULL")
    names = await asyncio.gather(*(name(f"name-{number}") for number in range(10)))
    assert len(set(names)) == 1
    async with core.db.connection() as connection:
        await connection.execute("UPDATE deployment SET gateway_group = NULL")
