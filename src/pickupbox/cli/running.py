"""What acts on the database shares: settings, and a core to act with."""

from collections.abc import Awaitable, Callable

import typer
import uvloop
from pydantic import ValidationError

from pickupbox.cli.speaking import fail
from pickupbox.database import deployments
from pickupbox.database.connection import Database
from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.settings import Settings, database_url, problems
from pickupbox.usecases.core import PLATFORM, Caller, Core, open_core


def commander(tenant: str) -> Caller:
    """Who gives a command about a tenant, for the audit: someone with the keys of the whole service."""
    return Caller(tenant, PLATFORM)


def away(cause: BaseException | None) -> typer.Exit:
    return fail(f"PostgreSQL does not answer: {cause}\nCheck PICKUPBOX_DATABASE_URL.")


def settings() -> Settings:
    """The settings from the environment; on a demo's database, those of the demo."""
    try:
        return Settings.model_validate({})
    except ValidationError as error:
        try:
            of_demo, unknown = uvloop.run(_demo_settings()), ""
        except TemporarilyUnavailable as absence:
            of_demo, unknown = (
                None,
                f"\nWhether this is a demo is not known: PostgreSQL does not answer ({absence.__cause__}).",
            )
        if of_demo is not None:
            return Settings.model_validate(of_demo | {"database_url": database_url()})
        lines = "\n".join(f"  {problem}" for problem in problems(error))
        raise fail(
            f"The settings are not complete:\n{lines}\nSee docs/settings.md for each of them.{unknown}"
        ) from None


async def _demo_settings() -> dict[str, str] | None:
    db = Database(database_url(), size=2)
    try:
        async with db.connection() as connection:
            deployment = await deployments.read(connection)
    finally:
        await db.close()
    return deployment.demo_settings if deployment else None


def run[Result](act: Callable[[Core], Awaitable[Result]]) -> Result:
    """Do something with a core, and say what to do if PostgreSQL is away."""

    async def with_core() -> Result:
        core = open_core(chosen)
        try:
            return await act(core)
        finally:
            await core.db.close()

    chosen = settings()
    try:
        return uvloop.run(with_core())
    except TemporarilyUnavailable as error:
        raise away(error.__cause__) from None
