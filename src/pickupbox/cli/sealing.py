"""The secrets that seal PINs and keys."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from pickupbox.cli.running import run
from pickupbox.cli.speaking import fail
from pickupbox.usecases.rewrap import rewrap, rewrap_for_people, rewrap_webhook_keys
from pickupbox.vault import new_secret, read_secrets

secret_app = typer.Typer(no_args_is_help=True, help="The secrets that seal PINs and keys, and their rotation.")


@secret_app.command("new")
def secret_new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Letters and digits, such as k2; never used before.")],
) -> None:
    """Print a fresh secret for PICKUPBOX_SECRETS. How to rotate: docs/secrets.md."""
    secret = new_secret(name)
    try:
        read_secrets(secret)
    except ValueError:
        raise fail("The name of a secret is letters and digits, such as k2.") from None
    sys.stdout.write(secret + "\n")


@secret_app.command("rewrap")
def secret_rewrap() -> None:
    """Seal again, under the current secret, what the one before sealed. API keys need more: see docs/secrets.md."""
    keys, people = run(rewrap_webhook_keys), run(rewrap_for_people)
    Console().print(
        f"{run(rewrap)} PINs, the keys of {keys} webhook endpoints and {people} secrets of people sealed again.",
        highlight=False,
    )
