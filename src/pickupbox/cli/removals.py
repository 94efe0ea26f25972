"""Removal: free a compartment whose contents must be taken out by a person."""

from typing import Annotated

import typer
from rich.console import Console

from pickupbox.cli.running import run
from pickupbox.cli.speaking import OperatorOption, TenantOption, fail, not_empty
from pickupbox.domain.errors import Refusal
from pickupbox.usecases.core import Caller
from pickupbox.usecases.removal import confirm_empty, open_for_removal, release_in_emergency

removal_app = typer.Typer(no_args_is_help=True, help="Take out what lies in a compartment that awaits removal.")

ShipmentArgument = Annotated[
    str, typer.Argument(metavar="SHIPMENT", help="Whose compartment it is, as `pickupbox box doors` shows it.")
]


def _refused(refusal: Refusal) -> typer.Exit:
    return fail(f"{refusal.message()} {refusal.cure()}")


@removal_app.command("open")
def open_door(shipment: ShipmentArgument, tenant: TenantOption, operator: OperatorOption) -> None:
    """Open the door, so that the contents can be taken out. Then close it."""
    try:
        command = run(lambda core: open_for_removal(core, Caller(tenant, operator), shipment))
    except Refusal as refusal:
        raise _refused(refusal) from None
    Console().print(
        f"{command.compartment_code} opens within 30 seconds. Empty it, close it, then:\n"
        f"pickupbox removal confirm {shipment} --tenant {tenant} --operator {operator}",
        highlight=False,
        soft_wrap=True,
    )


@removal_app.command("confirm")
def confirm(shipment: ShipmentArgument, tenant: TenantOption, operator: OperatorOption) -> None:
    """Say that the compartment is empty. Its door must have been opened and closed since the command."""
    try:
        run(lambda core: confirm_empty(core, Caller(tenant, operator), shipment))
    except Refusal as refusal:
        raise _refused(refusal) from None
    Console().print("Released.")


@removal_app.command("emergency")
def emergency(
    shipment: ShipmentArgument,
    tenant: TenantOption,
    operator: OperatorOption,
    reason: Annotated[str, typer.Option(callback=not_empty, help="Why the door's own word is not to be had.")],
) -> None:
    """Release without the door's word, only after looking inside. Two different people must say so."""
    try:
        released = run(lambda core: release_in_emergency(core, Caller(tenant, operator), shipment, reason))
    except Refusal as refusal:
        raise _refused(refusal) from None
    Console().print("Released." if released else "Noted. A second person must say the same.")
