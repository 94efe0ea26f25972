"""The command line: one command per process kind, what an engineer of the platform needs, and a shop's developer."""

import typer

from pickupbox.cli import boxes, desk, devices, fleet, processes, removals, signatures, tenants, users, webhooks  # noqa: F401 - devices adds to the box group

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__, rich_markup_mode="markdown")
for command in (
    processes.migrate,
    processes.api,
    processes.worker,
    processes.gateway,
    processes.admin,
    processes.check,
    processes.demo,
    fleet.fleet,
    desk.listen,
    desk.trigger,
    signatures.verify,
):
    app.command()(command)
for name, group in (
    ("tenant", tenants.tenant_app),
    ("key", tenants.key_app),
    ("user", users.user_app),
    ("box", boxes.box_app),
    ("removal", removals.removal_app),
    ("webhook", webhooks.webhook_app),
    ("secret", tenants.secret_app),
):
    app.add_typer(group, name=name)
