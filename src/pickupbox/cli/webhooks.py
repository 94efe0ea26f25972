"""Webhook endpoints: where a tenant's shop is told what happens."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from pickupbox.cli.running import commander, run
from pickupbox.cli.speaking import JsonOption, TenantOption, fail, listing, say
from pickupbox.database import attempts, endpoints
from pickupbox.domain.lifecycle import Event
from pickupbox.usecases import replay as replaying
from pickupbox.usecases.core import Core
from pickupbox.usecases.endpoints import (
    EndpointRefusedError,
    add_endpoint,
    disable_endpoint,
    enable_endpoint,
    remove_endpoint,
    rotate_secret,
    try_endpoint,
)

webhook_app = typer.Typer(no_args_is_help=True, help="Webhook endpoints: where a shop is told what happens.")

EndpointArgument = Annotated[str, typer.Argument(metavar="ENDPOINT", help="As `pickupbox webhook list` shows it.")]
NO_ENDPOINT = "The tenant has no such endpoint."


@webhook_app.command("add")
def add(
    tenant: TenantOption,
    url: Annotated[str, typer.Option(help="https address that takes a POST for each event.")],
    description: Annotated[str, typer.Option(help="What it is for.")] = "",
    types: Annotated[
        list[Event] | None, typer.Option("--type", help="Only this event; repeat it for more. Else all are told.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Add an endpoint, at most five per tenant. Its secret is shown once."""
    if len(description) > 160:
        raise fail("A description has at most 160 characters.")
    try:
        made = run(lambda core: add_endpoint(core, commander(tenant), url, description, types))
    except EndpointRefusedError as refused:
        raise fail(str(refused)) from None
    say(
        f"{made.id}\n{made.secret}\nKeep the secret now: it is not shown again. "
        f"Next: pickupbox webhook test {made.id} --tenant {tenant}",
        {"id": made.id, "secret": made.secret},
        as_json=as_json,
    )


@webhook_app.command("list")
def list_(tenant: TenantOption) -> None:
    """List a tenant's endpoints, and how they do."""

    async def list_them(core: Core) -> list[endpoints.Endpoint]:
        async with core.db.connection() as connection:
            return await endpoints.list_all(connection, tenant)

    table = listing("Address", "Events", "State")
    for e in run(list_them):
        table.add_row(e.id, escape(e.url), ", ".join(e.event_types or ["all"]), _state(e))
    Console().print(table)


def _state(endpoint: endpoints.Endpoint) -> str:
    if not endpoint.enabled:
        return f"disabled {endpoint.disabled_at:%Y-%m-%d %H:%M}: {endpoint.disabled_because}"
    if endpoint.failing_since is not None:
        return f"failing since {endpoint.failing_since:%Y-%m-%d %H:%M}"
    if endpoint.before_until is not None and endpoint.before_until > datetime.now(UTC):
        return f"enabled; the old secret signs until {endpoint.before_until:%Y-%m-%d %H:%M}"
    return "enabled"


@webhook_app.command("rotate")
def rotate(endpoint: EndpointArgument, tenant: TenantOption, as_json: JsonOption = False) -> None:
    """Make a new secret. For 24 hours the old one signs too."""
    secret = run(lambda core: rotate_secret(core, commander(tenant), endpoint))
    if secret is None:
        raise fail(NO_ENDPOINT)
    say(
        f"{secret}\nKeep it now: it is not shown again. The old one signs too for 24 hours.",
        {"id": endpoint, "secret": secret},
        as_json=as_json,
    )


@webhook_app.command("disable")
def disable(endpoint: EndpointArgument, tenant: TenantOption) -> None:
    """Tell an endpoint nothing more. What waits for it stays for 30 days."""
    if not run(lambda core: disable_endpoint(core, commander(tenant), endpoint, "by hand")):
        raise fail("The tenant has no such enabled endpoint.")


@webhook_app.command("enable")
def enable(endpoint: EndpointArgument, tenant: TenantOption) -> None:
    """Go on with what waits for an endpoint, at once."""
    before = run(lambda core: enable_endpoint(core, commander(tenant), endpoint))
    if before is None:
        raise fail(NO_ENDPOINT)
    if before.disabled_at is not None:
        Console().print(
            "What waited goes out now. What happened since it was disabled was not kept for it; to send that too:\n"
            f"pickupbox webhook replay {endpoint} --tenant {tenant} --since {before.disabled_at:%Y-%m-%dT%H:%M:%SZ}",
            highlight=False,
            soft_wrap=True,
        )


@webhook_app.command("test")
def send_example(
    endpoint: EndpointArgument,
    tenant: TenantOption,
    event_type: Annotated[Event, typer.Option("--type", help="The type of the example.")] = Event.LOADED,
) -> None:
    """Send a signed example of an event, once, and show what came back."""
    answer = run(lambda core: try_endpoint(core, commander(tenant), endpoint, event_type))
    if answer is None:
        raise fail(NO_ENDPOINT)
    came = f"{answer.status if answer.error is None else answer.error} after {answer.seconds * 1000:.0f} ms"
    if answer.status is None or not 200 <= answer.status < 300:
        # Quoted, because an answer may hold what steers a terminal.
        shown = repr(answer.body[:500].decode(errors="replace"))
        raise fail(f"Not accepted: {came}{': ' + shown if answer.body else ''}")
    Console().print(f"Accepted: {came}", highlight=False)


@webhook_app.command("attempts")
def list_attempts(
    endpoint: EndpointArgument,
    tenant: TenantOption,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, the latest first.")] = 20,
) -> None:
    """Show the latest attempts to deliver, with what came back."""

    async def list_them(core: Core) -> list[attempts.Attempt]:
        async with core.db.connection() as connection:
            return await attempts.list_latest(connection, tenant, endpoint, limit)

    for a in run(list_them):
        outcome = a.outcome.replace("_", " ")
        Console().print(
            f"{a.at:%Y-%m-%d %H:%M:%S}  {outcome:8}  {a.event_type:14}  attempt {a.number}: "
            f"{a.status or a.error} in {a.milliseconds} ms\n  {a.event_id} of {a.shipment_id}",
            style="" if a.outcome == "accepted" else "red",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        if a.answer and a.outcome != "accepted":
            Console().print(f"  {a.answer[:200]!r}", style="dim", highlight=False, markup=False, soft_wrap=True)


@webhook_app.command("replay")
def replay(
    endpoint: EndpointArgument,
    tenant: TenantOption,
    event: Annotated[str | None, typer.Option(metavar="EVENT_ID", help="Send this one event again.")] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d", "%Y-%m-%dT%H:%MZ", "%Y-%m-%dT%H:%M:%SZ"],
            metavar="TIME",
            help="Send everything since then, in UTC: 2031-05-01 or 2031-05-01T08:30Z.",
        ),
    ] = None,
) -> None:
    """Send again what was told before: one event, or all that the endpoint subscribes to since a time."""
    if (event is None) == (since is None):
        raise fail("Say either --event or --since.")
    if run(lambda core: _find(core, tenant, endpoint)) is None:
        raise fail(NO_ENDPOINT)
    if event is not None:
        if not run(lambda core: replaying.replay_event(core, commander(tenant), endpoint, event)):
            raise fail("The tenant has no such event.")
        Console().print("On its way.")
    elif since is not None:
        _replay_since(tenant, endpoint, since.replace(tzinfo=UTC))


async def _find(core: Core, tenant: str, endpoint: str) -> endpoints.Endpoint | None:
    async with core.db.connection() as connection:
        return await endpoints.find(connection, tenant, endpoint)


def _replay_since(tenant: str, endpoint: str, since: datetime) -> None:
    now = datetime.now(UTC)
    span = max(1.0, (now - since).total_seconds())
    columns = (TextColumn("{task.fields[events]} events"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=span, events=0)

        def show(count: int, back_to: datetime) -> None:
            bar.update(task, completed=min(span, (now - back_to).total_seconds()), events=count)

        count = run(lambda core: replaying.replay_since(core, commander(tenant), endpoint, since, show))
    Console().print(f"{count} events are on their way.", highlight=False)


@webhook_app.command("remove")
def remove(endpoint: EndpointArgument, tenant: TenantOption) -> None:
    """Remove an endpoint for good, with all that waits for it."""
    if not run(lambda core: remove_endpoint(core, commander(tenant), endpoint)):
        raise fail(NO_ENDPOINT)
