"""Boxes and their compartments."""

from collections.abc import Callable
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from pickupbox.cli.running import commander, run
from pickupbox.cli.speaking import JsonOption, OperatorOption, TenantOption, fail, listing, not_empty, say
from pickupbox.database import boxes
from pickupbox.domain.box_setup import COMPARTMENTS, LENGTHS
from pickupbox.domain.errors import BoxNotFound
from pickupbox.usecases.boxes import default_setup, offer_box, put_in_service, set_up_box
from pickupbox.usecases.core import Caller, Core

box_app = typer.Typer(no_args_is_help=True, help="Boxes and their compartments.")

BoxArgument = Annotated[str, typer.Argument(metavar="BOX", help="As `pickupbox box list` shows it.")]
NO_BOX = "The tenant has no such box."


def _short(field: str) -> Callable[[str | None], str]:
    """Holds a text about a box to the length that it may have."""

    def trimmed(text: str | None) -> str:
        short = (text or "").strip()
        if len(short) > LENGTHS[field]:
            raise typer.BadParameter(f"at most {LENGTHS[field]} characters")
        return short

    return trimmed


def _name(text: str) -> str:
    return _short("name")(not_empty(text))


@box_app.command("add")
def box_add(
    name: Annotated[str, typer.Argument(metavar="NAME", callback=_name, help="As customers know it.")],
    tenant: TenantOption,
    compartments: Annotated[
        int, typer.Option(min=COMPARTMENTS[0], max=COMPARTMENTS[1], help="How many doors it has.")
    ] = 12,
    location: Annotated[str, typer.Option(callback=_short("location_name"), help="Short location label.")] = "",
    address: Annotated[str, typer.Option(callback=_short("address"), help="Postal address.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Add a box with its compartments. They are called A1 to A6, B1 to B6 and so on."""

    async def add_it(core: Core) -> str:
        setup = default_setup(core, name, location or None, address or None)
        return await set_up_box(core, commander(tenant), setup, compartments)

    try:
        box = run(add_it)
    except BoxNotFound:
        raise fail("There is no such tenant.") from None
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
def box_activate(
    box: BoxArgument,
    tenant: TenantOption,
    off: Annotated[bool, typer.Option("--off", help="No longer offer it; what is in it can be picked up.")] = False,
) -> None:
    """Offer a box to shops, or with --off no longer. A new box is offered."""
    try:
        run(lambda core: offer_box(core, commander(tenant), box, active=not off))
    except BoxNotFound:
        raise fail(NO_BOX) from None


@box_app.command("doors")
def box_doors(box: BoxArgument, tenant: TenantOption) -> None:
    """List a box's compartments: what its sensors say, what holds them, and which are out of service."""

    async def list_them(core: Core) -> list[boxes.Compartment]:
        async with core.db.connection() as connection:
            return await boxes.list_compartments(connection, tenant, box)

    found = run(list_them)
    if not found:
        raise fail(NO_BOX)
    table = Table("Code", "Door", "Stage", Column("Shipment", no_wrap=True), "", box=SIMPLE_HEAD)
    for one in found:
        door = "unknown" if one.is_open is None else "open" if one.is_open else "closed"
        note = "" if one.in_service else "out of service: look inside"
        note = note or ("waits for the box's word" if one.withheld and one.shipment_id is None else "")
        table.add_row(one.code, door, one.stage or "free", one.shipment_id or "", note)
    Console().print(table)


@box_app.command("restore")
def box_restore(
    box: BoxArgument,
    code: Annotated[str, typer.Argument(metavar="COMPARTMENT", help="Its code, as `pickupbox box doors` shows it.")],
    tenant: TenantOption,
    operator: OperatorOption,
) -> None:
    """Offer a compartment again that was taken out of service. First look inside: nobody knew what lay there."""
    if not run(lambda core: put_in_service(core, Caller(tenant, operator), box, code, in_service=True)):
        raise fail("The tenant has no such compartment.")
