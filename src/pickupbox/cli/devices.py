"""The devices of boxes: enroll, list, revoke; the authority that signs their certificates."""

import sys
from datetime import UTC, datetime
from typing import Annotated

import typer
from cryptography.hazmat.primitives.serialization import Encoding
from rich.console import Console
from rich.markup import escape

from pickupbox.box.__main__ import main as run_program
from pickupbox.certificates import new_authority
from pickupbox.cli.boxes import BoxArgument, box_app
from pickupbox.cli.running import run, settings
from pickupbox.cli.speaking import JsonOption, OperatorOption, TenantOption, fail, listing, say
from pickupbox.database import devices
from pickupbox.usecases.core import PLATFORM, Caller, Core
from pickupbox.usecases.devices import AuthorityMissingError, enroll, revocations, revoke

authority_app = typer.Typer(no_args_is_help=True, help="What signs the certificates of boxes.")
box_app.add_typer(authority_app, name="authority")

DeviceArgument = Annotated[str, typer.Argument(metavar="DEVICE", help="As `pickupbox box devices` shows it.")]


@box_app.command("run")
def run_box(
    page: Annotated[
        str | None, typer.Option(metavar="[HOST:]PORT", help="Play with its virtual doors in a browser.")
    ] = None,
) -> None:
    """Run the program in the box; its settings are PICKUPBOX_BOX_… variables. On the board: pickupbox-box run."""
    raise SystemExit(run_program(["run", *(["--page", page] if page else [])]))


@box_app.command("enroll")
def box_enroll(
    box: BoxArgument, tenant: TenantOption, operator: OperatorOption = PLATFORM, as_json: JsonOption = False
) -> None:
    """Make a device for a box, with a code that the box exchanges for its certificate."""
    try:
        made = run(lambda core: enroll(core, Caller(tenant, operator), box))
    except AuthorityMissingError as missing:
        raise fail(str(missing)) from None
    if made is None:
        raise fail("The tenant has no such box, or its device works already: revoke that first.")
    say(
        f"{made.device}\n{made.code}\nEnter both at the box within 24 hours. The code works once and is shown once.",
        {"device": made.device, "code": made.code},
        as_json=as_json,
    )


@box_app.command("revoke")
def box_revoke(device: DeviceArgument, tenant: TenantOption, operator: OperatorOption = PLATFORM) -> None:
    """Revoke a device; then give the broker the new list (`pickupbox box revocations`)."""
    if not run(lambda core: revoke(core, Caller(tenant, operator), device)):
        raise fail("The tenant has no such live device.")


@box_app.command("devices")
def box_devices(tenant: TenantOption) -> None:
    """List a tenant's devices, the newest first."""

    async def list_them(core: Core) -> list[devices.Device]:
        async with core.db.connection() as connection:
            return await devices.list_devices(connection, tenant)

    table = listing("Box", "State", "Certificate until", "Last seen", "Software")
    for d in run(list_them):
        table.add_row(
            d.id, d.box_id, _state(d), _day(d.certificate_until), _minute(d.last_seen_at), escape(d.software or "")
        )
    Console().print(table)


@box_app.command("revocations")
def box_revocations() -> None:
    """Print the list of revoked certificates, for the broker's crlfile."""
    try:
        sys.stdout.write(run(revocations))
    except AuthorityMissingError as missing:
        raise fail(str(missing)) from None


@authority_app.command("new")
def authority_new(
    name: Annotated[str, typer.Option(help="What its certificate says it is.")] = "Pickupbox devices",
) -> None:
    """Print a fresh signing key and certificate for PICKUPBOX_DEVICE_AUTHORITY."""
    sys.stdout.write(new_authority(name, datetime.now(UTC)) + "\n")


@authority_app.command("show")
def authority_show() -> None:
    """Print the authority's certificate, for the broker's cafile."""
    authority = settings().authority()
    if authority is None:
        raise fail(str(AuthorityMissingError()))
    sys.stdout.write(authority.certificate.public_bytes(Encoding.PEM).decode())


def _state(device: devices.Device) -> str:
    if device.revoked_at is not None:
        return "revoked"
    if device.presence != "never":
        return device.presence
    return "enrolled" if device.enrolled_at else "waits for its code"


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else ""


def _minute(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""
