"""Tenants and their API keys."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from pickupbox.cli.running import commander, run
from pickupbox.cli.speaking import JsonOption, Name, TenantOption, fail, listing, not_empty, say
from pickupbox.database import tenants
from pickupbox.usecases.core import Core
from pickupbox.usecases.tenants import issue_key, revoke_key, set_rate, set_up_tenant

tenant_app = typer.Typer(no_args_is_help=True, help="Tenants: the shops that use this service.")
key_app = typer.Typer(no_args_is_help=True, help="API keys. A complete key is shown once, when it is made.")

NameOption = Annotated[str, typer.Option("--name", callback=not_empty, help="What the key is for.")]
KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="Its id, as `pickupbox key list` shows it.")]


@tenant_app.command("add")
def tenant_add(name: Name, as_json: JsonOption = False) -> None:
    """Add a tenant."""
    tenant = run(lambda core: set_up_tenant(core, name))
    say(f"{tenant}\nNext: pickupbox key add --tenant {tenant}", {"id": tenant}, as_json=as_json)


@tenant_app.command("list")
def tenant_list() -> None:
    """List the tenants."""

    async def list_them(core: Core) -> list[tenants.Tenant]:
        async with core.db.connection() as connection:
            return await tenants.list_all(connection)

    table = listing("Name", "Rate/s", "Burst")
    for t in run(list_them):
        table.add_row(t.id, escape(t.name), str(t.rate_per_second), str(t.rate_burst))
    Console().print(table)


@tenant_app.command("rate")
def tenant_rate(
    tenant: TenantOption,
    per_second: Annotated[
        int, typer.Argument(metavar="PER_SECOND", min=1, max=1_000_000, help="Requests per second in the long run.")
    ],
    burst: Annotated[
        int, typer.Argument(metavar="BURST", min=1, max=1_000_000, help="Requests at once, after a pause.")
    ],
) -> None:
    """Set how fast each key of a tenant may ask. It counts within 5 seconds."""
    if not run(lambda core: set_rate(core, commander(tenant), per_second, burst)):
        raise fail("There is no such tenant.")


@key_app.command("add")
def key_add(tenant: TenantOption, name: NameOption = "default", as_json: JsonOption = False) -> None:
    """Make an API key. A second of the same name rotates: both live until you revoke the first."""
    key = run(lambda core: issue_key(core, commander(tenant), name))
    if key is None:
        raise fail("There is no such tenant, or two keys of this name live already: revoke one first.")
    say(f"{key.api_key}\nKeep it now: it is not shown again.", {"id": key.id, "api_key": key.api_key}, as_json=as_json)


@key_app.command("list")
def key_list(tenant: TenantOption) -> None:
    """List a tenant's keys."""

    async def list_them(core: Core) -> list[tenants.ApiKey]:
        async with core.db.connection() as connection:
            return await tenants.list_keys(connection, tenant)

    table = listing("Name", "Secret", "Last used", "State")
    for k in run(list_them):
        used = f"{k.last_used_at:%Y-%m-%d}" if k.last_used_at else "never"
        table.add_row(k.id, escape(k.name), k.secret_id, used, _state(k))
    Console().print(table)


def _state(key: tenants.ApiKey) -> str:
    if not key.lives(datetime.now(UTC)):
        return "revoked"
    return f"live until {key.revoke_at:%Y-%m-%d %H:%M}" if key.revoke_at else "live"


@key_app.command("revoke")
def key_revoke(key: KeyArgument, tenant: TenantOption) -> None:
    """Revoke a key; it stops working within 5 seconds."""
    if not run(lambda core: revoke_key(core, commander(tenant), key)):
        raise fail("The tenant has no such live key.")
