"""The command line: one command per process kind, what an engineer of the platform needs, and a shop's developer."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

# Where each command is, and the line that lists it: a module is imported when its command is asked for, because all of
# them together take seconds. A test holds each line to what the command says of itself.
COMMANDS = {
    "migrate": (
        "deployment.migrate",
        "Bring the database to this version's schema. Run it once per release, before the processes.",
    ),
    "api": ("servers.api", "Serve the public API."),
    "worker": (
        "processes.worker",
        "Act on deadlines, deliver webhooks, seal the audit chain, keep what must be kept. Run as many as you like.",
    ),
    "gateway": (
        "processes.gateway",
        "Speak with the boxes over MQTT: take their reports, judge PINs, open doors. Run as many as you like.",
    ),
    "admin": (
        "servers.admin",
        "Serve the pages for administrators and operators. Behind a proxy that speaks https.",
    ),
    "check": ("deployment.check", "Check the invariants on the live database; exit 1 on a breach."),
    "demo": ("demo.demo", "A whole sandbox on loopback, from nothing but a reachable PostgreSQL."),
    "fleet": (
        "fleet.fleet",
        "Play a street of virtual boxes, loaders and customers in a sandbox; exit 1 if a shipment got stuck.",
    ),
    "listen": (
        "desk.listen",
        "Show a sandbox's events as they happen, and forward them to your own server, signed as real webhooks are.",
    ),
    "trigger": (
        "desk.trigger",
        "Make an event happen in a sandbox: reserve for a fresh order, and take the shortest way to that event.",
    ),
    "verify": (
        "signatures.verify",
        "Say whether the signature of a webhook holds, and if not, why. Exit 1 if it does not.",
    ),
    "tenant": ("tenants.tenant_app", "Tenants: the shops that use this service."),
    "key": ("tenants.key_app", "API keys. A complete key is shown once, when it is made."),
    "user": ("users.user_app", "People: who may visit a tenant's administration, as what."),
    "box": ("devices.box_app", "Boxes and their compartments."),
    "removal": ("removals.removal_app", "Take out what lies in a compartment that awaits removal."),
    "webhook": ("webhooks.webhook_app", "Webhook endpoints: where a shop is told what happens."),
    "secret": ("sealing.secret_app", "The secrets that seal PINs and keys, and their rotation."),
}

HELP = """The service behind pickup boxes: its processes, and what engineers of the platform and of shops need.

To look around: `pickupbox demo`. To run it: docs/running.md.
"""


class Lazy(TyperGroup):
    """Lists every command without importing it, and imports the one that is asked for."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, load(name) if name else listed, rest


def load(name: str) -> Any:
    module, _, attribute = COMMANDS[name][0].rpartition(".")
    found = getattr(import_module(f"pickupbox.cli.{module}"), attribute)
    alone = typer.Typer(rich_markup_mode="markdown")
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        alone.command(name)(found)
    return get_group(alone).commands[name]


app = typer.Typer(
    cls=Lazy, no_args_is_help=True, pretty_exceptions_enable=False, help=HELP, rich_markup_mode="markdown"
)
for name, (_, line) in COMMANDS.items():
    app.command(name, help=line)(lambda: None)
