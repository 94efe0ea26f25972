"""What every command shares: options, settings, a core to act with, and how it speaks."""

import json
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated

import typer
import uvloop
from pydantic import ValidationError
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Column, Table

from pickupbox.database import deployments
from pickupbox.database.connection import Database
from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.settings import Settings, database_url, problems
from pickupbox.usecases.core import Caller, Core, open_core
from pickupbox.usecases.team import PLATFORM

TenantOption = Annotated[str, typer.Option("--tenant", help="The tenant's id, as `pickupbox tenant list` shows it.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One line of JSON instead of text.")]


def not_empty(name: str) -> str:
    if not name.strip():
        raise typer.BadParameter("a name is not empty")
    return name


Name = Annotated[str, typer.Argument(callback=not_empty, help="As people know it.")]
OperatorOption = Annotated[str, typer.Option("--operator", callback=not_empty, help="Who does it, for the audit.")]


def commander(tenant: str) -> Caller:
    """Who gives a command about a tenant, for the audit: someone with the keys of the whole service."""
    return Caller(tenant, PLATFORM)


def fail(text: str) -> typer.Exit:
    Console(stderr=True).print(text, style="red", highlight=False, markup=False, soft_wrap=True)
    return typer.Exit(1)


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


def listing(*headers: str) -> Table:
    """A table that begins with an id, which is never cut: it is there to be copied."""
    return Table(Column("Id", no_wrap=True), *headers, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))


def say(text: str, value: dict[str, object], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(value) + "\n")
    else:
        Console().print(text, highlight=False, markup=False, soft_wrap=True)
