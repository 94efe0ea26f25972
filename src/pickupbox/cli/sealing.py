"""The secrets that seal PINs and keys."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from pickupbox.cli.running import run
from pickupbox.usecases.rewrap import rewrap, rewrap_for_people, rewrap_webhook_keys
from pickupbox.vault import new_secret

secret_app = typer.Typer(no_args_is_help=True, help="The secrets that seal PINs and keys, and their rotation.")


@secret_app.command("new")
def secret_new(secret_id: Annotated[str, typer.Argument(help="A short name, such as k2.")]) -> None:
    """Print a fresh secret for PICKUPBOX_SECRETS."""
    sys.stdout.write(new_secret(secret_id) + "\n")


@secret_app.command("rewrap")
def secret_rewrap() -> None:
    """Seal everything that is sealed under the current secret; then the one before can go. See docs/secrets.md."""
    keys, people = run(rewrap_webhook_keys), run(rewrap_for_people)
    Console().print(
        f"{run(rewrap)} PINs, the keys of {keys} webhook endpoints and {people} secrets of people sealed again.",
        highlight=False,
    )
