"""The command line: one command per process kind, and what an administrator needs before there are pages."""

import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated

import typer
import uvloop
from prometheus_client import start_http_server
from pydantic import ValidationError
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from pickupbox import demo as demonstration
from pickupbox.api.server import serve as serve_api
from pickupbox.database import boxes, deployments, schema, tenants
from pickupbox.database.connection import Database
from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.settings import Settings, database_url, problems
from pickupbox.telemetry import start_logs
from pickupbox.usecases import check as checking
from pickupbox.usecases.boxes import add_box, default_setup
from pickupbox.usecases.core import Core, open_core
from pickupbox.usecases.partitions import keep_partitions
from pickupbox.usecases.rewrap import rewrap
from pickupbox.usecases.tenants import add_tenant, issue_key, revoke_key
from pickupbox.vault import new_secret
from pickupbox.worker.process import serve as serve_worker

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__, rich_markup_mode="markdown")
tenant_app = typer.Typer(no_args_is_help=True, help="Tenants: the shops that use this service.")
box_app = typer.Typer(no_args_is_help=True, help="Boxes and their compartments.")
key_app = typer.Typer(no_args_is_help=True, help="API keys. A complete key is shown once, when it is made.")
secret_app = typer.Typer(no_args_is_help=True, help="The secrets that seal PINs and API keys, and their rotation.")
for name, group in (("tenant", tenant_app), ("box", box_app), ("key", key_app), ("secret", secret_app)):
    app.add_typer(group, name=name)

TenantOption = Annotated[str, typer.Option("--tenant", help="The tenant's id, as `pickupbox tenant list` shows it.")]


def _not_empty(name: str) -> str:
    if not name.strip():
        raise typer.BadParameter("a name is not empty")
    return name


Name = Annotated[str, typer.Argument(callback=_not_empty, help="As people know it.")]
NameOption = Annotated[str, typer.Option("--name", callback=_not_empty, help="What the key is for.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One line of JSON instead of text.")]
HostOption = Annotated[str, typer.Option(help="Address to listen on.")]


def fail(text: str) -> typer.Exit:
    Console(stderr=True).print(text, style="red", highlight=False, markup=False, soft_wrap=True)
    return typer.Exit(1)


def _away(cause: BaseException | None) -> typer.Exit:
    return fail(f"PostgreSQL does not answer: {cause}\nCheck PICKUPBOX_DATABASE_URL.")


def settings() -> Settings:
    """The settings from the environment; on a demo's database, those of the demo."""
    try:
        return Settings.model_validate({})
    except ValidationError as error:
        of_demo = uvloop.run(_demo_settings())
        if of_demo is not None:
            return Settings.model_validate(of_demo | {"database_url": database_url()})
        lines = "\n".join(f"  {problem}" for problem in problems(error))
        raise fail(f"The settings are not complete:\n{lines}\nSee docs/settings.md for each of them.") from None


async def _demo_settings() -> dict[str, str] | None:
    db = Database(database_url(), size=2)
    try:
        async with db.connection() as connection:
            deployment = await deployments.read(connection)
    except TemporarilyUnavailable:
        return None
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
        raise _away(error.__cause__) from None


def _table(*headers: str) -> Table:
    """A table that begins with an id, which is never cut: it is there to be copied."""
    return Table(Column("Id", no_wrap=True), *headers, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))


def say(text: str, value: dict[str, object], *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(value) + "\n")
    else:
        Console().print(text, highlight=False, markup=False, soft_wrap=True)


@app.command()
def migrate() -> None:
    """Bring the database to this version's schema. Run it once per release, before the processes."""
    chosen = settings()
    try:
        schema.migrate(chosen.database_url)
    except schema.AwayError as error:
        raise _away(error) from None

    async def prepare(core: Core) -> str | None:
        async with core.db.connection() as connection:
            await deployments.declare(connection, deployments.Deployment(core.environment, core.cell, None))
            declared = await deployments.read(connection)
        await keep_partitions(core)
        if declared and (declared.environment, declared.cell) != (core.environment, core.cell):
            return (
                f"This database is the {declared.environment} of cell {declared.cell}; nothing was changed about that."
            )
        return None

    if warning := run(prepare):
        raise fail(warning)
    Console().print(f"The database is at revision {schema.newest_revision()}.")


@app.command()
def api(
    host: HostOption = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of the API.")] = 8080,
    workers: Annotated[int, typer.Option(min=1, help="Processes. More than one needs PICKUPBOX_RATE_LIMIT_URL.")] = 1,
    metrics_port: Annotated[int | None, typer.Option(help="Port of /metrics; none if omitted.")] = None,
) -> None:
    """Serve the public API."""
    chosen = settings()
    if chosen.rate_limit_url == "memory://" and workers > 1:
        raise fail("Several API processes must share their rate limits: set PICKUPBOX_RATE_LIMIT_URL=redis://…")
    os.environ.update(chosen.variables())  # its processes read them anew, and on a demo's database none may be set
    serve_api(host, port, workers, metrics_port)


@app.command()
def worker(
    host: HostOption = "127.0.0.1",
    metrics_port: Annotated[int | None, typer.Option(help="Port of /metrics; none if omitted.")] = None,
) -> None:
    """Act on deadlines, seal the audit chain, keep partitions, erase names. Run as many as you like."""
    chosen = settings()
    start_logs(chosen.log_level)
    if metrics_port is not None:
        start_http_server(metrics_port, addr=host)
    uvloop.run(serve_worker(open_core(chosen)))


@app.command()
def check(tenant: Annotated[str | None, typer.Option("--tenant", help="Only this tenant.")] = None) -> None:
    """Check the invariants on the live database; exit 1 on a breach."""
    findings = run(lambda core: checking.check(core, tenant))
    table = Table("", "Invariant", "Breaches")
    for finding in findings:
        count = str(len(finding.breaches) or "none")
        table.add_row(str(finding.number), finding.invariant, count, style="red" if finding.breaches else "")
    Console().print(table)
    broken = [f"{finding.number}: {breach}" for finding in findings for breach in finding.breaches[:5]]
    if broken:
        raise fail("\n".join(broken))
    Console().print("All hold. (7, deliveries of events, comes with webhooks.)", highlight=False)


@app.command()
def demo(
    as_json: JsonOption = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin with an empty database.")] = False,
    port: Annotated[int, typer.Option(help="Port of the API.")] = 8080,
) -> None:
    """A whole sandbox on loopback, from nothing but a reachable PostgreSQL."""
    try:
        demonstration.run(database_url(), port, fresh=fresh, as_json=as_json)
    except demonstration.DemoError as error:
        raise fail(str(error)) from None


@tenant_app.command("add")
def tenant_add(name: Name, as_json: JsonOption = False) -> None:
    """Add a tenant."""
    tenant = run(lambda core: add_tenant(core, name))
    say(f"{tenant}\nNext: pickupbox key add --tenant {tenant}", {"id": tenant}, as_json=as_json)


@tenant_app.command("list")
def tenant_list() -> None:
    """List the tenants."""

    async def list_them(core: Core) -> list[tenants.Tenant]:
        async with core.db.connection() as connection:
            return await tenants.list_all(connection)

    table = _table("Name", "Rate/s", "Burst")
    for t in run(list_them):
        table.add_row(t.id, escape(t.name), str(t.rate_per_second), str(t.rate_burst))
    Console().print(table)


@tenant_app.command("rate")
def tenant_rate(
    tenant: TenantOption,
    per_second: Annotated[int, typer.Argument(min=1, max=1_000_000)],
    burst: Annotated[int, typer.Argument(min=1, max=1_000_000)],
) -> None:
    """Set how fast each key of a tenant may ask."""

    async def set_it(core: Core) -> bool:
        async with core.db.connection() as connection:
            return await tenants.set_rate(connection, tenant, per_second, burst)

    if not run(set_it):
        raise fail("There is no such tenant.")


@box_app.command("add")
def box_add(
    name: Name,
    tenant: TenantOption,
    compartments: Annotated[int, typer.Option(min=1, max=500)] = 12,
    location: Annotated[str | None, typer.Option(help="Short location label.")] = None,
    address: Annotated[str | None, typer.Option(help="Postal address.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Add a box with its compartments."""
    box = run(lambda core: add_box(core, tenant, default_setup(core, name, location, address), compartments))
    if box is None:
        raise fail("There is no such tenant.")
    say(box, {"id": box}, as_json=as_json)


@box_app.command("list")
def box_list(tenant: TenantOption) -> None:
    """List a tenant's boxes."""

    async def list_them(core: Core) -> list[boxes.BoxOverview]:
        async with core.db.connection() as connection:
            return await boxes.list_overview(connection, tenant)

    table = _table("Name", "Active", "Free")
    for b in run(list_them):
        table.add_row(b.id, escape(b.name), "yes" if b.active else "no", f"{b.free} of {b.compartments}")
    Console().print(table)


@box_app.command("activate")
def box_activate(box_id: str, tenant: TenantOption, off: Annotated[bool, typer.Option("--off")] = False) -> None:
    """Offer a box to shops, or with --off no longer."""

    async def set_it(core: Core) -> bool:
        async with core.db.connection() as connection:
            return await boxes.set_active(connection, tenant, box_id, active=not off)

    if not run(set_it):
        raise fail("The tenant has no such box.")


@key_app.command("add")
def key_add(tenant: TenantOption, name: NameOption = "default", as_json: JsonOption = False) -> None:
    """Make an API key. A second of the same name rotates: both live until you revoke the first."""
    key = run(lambda core: issue_key(core, tenant, name))
    if key is None:
        raise fail("There is no such tenant, or two keys of this name live already: revoke one first.")
    say(f"{key.api_key}\nKeep it now: it is not shown again.", {"id": key.id, "api_key": key.api_key}, as_json=as_json)


@key_app.command("list")
def key_list(tenant: TenantOption) -> None:
    """List a tenant's keys."""

    async def list_them(core: Core) -> list[tenants.ApiKey]:
        async with core.db.connection() as connection:
            return await tenants.list_keys(connection, tenant)

    table = _table("Name", "Secret", "Last used", "State")
    for k in run(list_them):
        used = f"{k.last_used_at:%Y-%m-%d}" if k.last_used_at else "never"
        table.add_row(k.id, escape(k.name), k.secret_id, used, "revoked" if k.revoked_at else "live")
    Console().print(table)


@key_app.command("revoke")
def key_revoke(key_id: str, tenant: TenantOption) -> None:
    """Revoke a key; it stops working within 5 seconds."""
    if not run(lambda core: revoke_key(core, tenant, key_id)):
        raise fail("The tenant has no such live key.")


@secret_app.command("new")
def secret_new(secret_id: Annotated[str, typer.Argument(help="A short name, such as k2.")]) -> None:
    """Print a fresh secret for PICKUPBOX_SECRETS."""
    sys.stdout.write(new_secret(secret_id) + "\n")


@secret_app.command("rewrap")
def secret_rewrap() -> None:
    """Seal every PIN again under the current secret; then the one before it can go. See docs/secrets.md."""
    Console().print(f"{run(rewrap)} PINs sealed again.")
