"""Boxes and their compartments."""

from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from pickupbox.cli.running import run
from pickupbox.cli.speaking import JsonOption, Name, OperatorOption, TenantOption, fail, listing, say
from pickupbox.database import boxes
from pickupbox.usecases.boxes import add_box, default_setup, put_in_service
from pickupbox.usecases.core import Caller, Core

box_app = typer.Typer(no_args_is_help=True, help="Boxes and their compartments.")


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

    table = listing("Name", "Active", "Free")
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


@box_app.command("doors")
def box_doors(box_id: str, tenant: TenantOption) -> None:
    """List a box's compartments: what its sensors say, what holds them, and which are out of service."""

    async def list_them(core: Core) -> list[boxes.Compartment]:
        async with core.db.connection() as connection:
            return await boxes.list_compartments(connection, tenant, box_id)

    found = run(list_them)
    if not found:
        raise fail("The tenant has no such box.")
    table = Table("Code", "Door", "Stage", Column("Shipment", no_wrap=True), "", box=SIMPLE_HEAD)
    for one in found:
        door = "unknown" if one.is_open is None else "open" if one.is_open else "closed"
        note = "" if one.in_service else "out of service: look inside"
        note = note or ("waits for the box's word" if one.withheld and one.shipment_id is None else "")
        table.add_row(one.code, door, one.stage or "free", one.shipment_id or "", note)
    Console().print(table)


@box_app.command("restore")
def box_restore(box_id: str, code: str, tenant: TenantOption, operator: OperatorOption) -> None:
    """Offer a compartment again that was taken out of service. First look inside: nobody knew what lay there."""
    if not run(lambda core: put_in_service(core, Caller(tenant, operator), box_id, code, in_service=True)):
        raise fail("The tenant has no such compartment.")
