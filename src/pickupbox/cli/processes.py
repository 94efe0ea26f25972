"""The processes of a deployment, and what is done around them."""

import os
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

import typer
import uvloop
from prometheus_client import start_http_server
from rich.console import Console
from rich.table import Table

from pickupbox import demo as demonstration
from pickupbox.cli.running import JsonOption, away, fail, run, settings
from pickupbox.database import deployments, schema
from pickupbox.devices.gateway import serve as serve_gateway
from pickupbox.server import serve as serve_http
from pickupbox.settings import Settings, database_url
from pickupbox.telemetry import start_logs
from pickupbox.usecases import check as checking
from pickupbox.usecases.core import Core
from pickupbox.usecases.partitions import keep_partitions
from pickupbox.worker.process import serve as serve_worker

HostOption = Annotated[str, typer.Option(help="Address to listen on.")]


def migrate() -> None:
    """Bring the database to this version's schema. Run it once per release, before the processes."""
    chosen = settings()
    try:
        schema.migrate(chosen.database_url)
    except schema.AwayError as error:
        raise away(error) from None

    async def prepare(core: Core) -> str | None:
        async with core.db.connection() as connection:
            await deployments.declare(connection, deployments.Deployment(core.environment, core.cell, None))
            declared = await deployments.read(connection)
        await keep_partitions(core)
        if declared and (declared.environment, declared.cell) != (core.environment, core.cell):
            return (
                f"This database is the {declared.environment} of cell {declared.cell}; nothing was changed about that."
            )
        return None

    if warning := run(prepare):
        raise fail(warning)
    Console().print(f"The database is at revision {schema.newest_revision()}.")


def api(
    host: HostOption = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of the API.")] = 8080,
    workers: Annotated[int, typer.Option(min=1, help="Processes. More than one needs PICKUPBOX_RATE_LIMIT_URL.")] = 1,
    metrics_port: Annotated[int | None, typer.Option(help="Port of /metrics; none if omitted.")] = None,
) -> None:
    """Serve the public API."""
    chosen = settings()
    if chosen.rate_limit_url == "memory://" and workers > 1:
        raise fail("Several API processes must share their rate limits: set PICKUPBOX_RATE_LIMIT_URL=redis://…")
    os.environ.update(chosen.variables())  # its processes read them anew, and on a demo's database none may be set
    serve_http("pickupbox.api.app:create", host, port, workers, metrics_port)


def admin(
    host: HostOption = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of the pages.")] = 8090,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    metrics_port: Annotated[int | None, typer.Option(help="Port of /metrics; none if omitted.")] = None,
) -> None:
    """Serve the pages for administrators and operators. Behind a proxy that speaks https."""
    os.environ.update(settings().variables())
    serve_http("pickupbox.admin.app:create", host, port, workers, metrics_port)


def worker(
    host: HostOption = "127.0.0.1",
    metrics_port: Annotated[int | None, typer.Option(help="Port of /metrics; none if omitted.")] = None,
) -> None:
    """Act on deadlines, deliver webhooks, seal the audit chain, keep what must be kept. Run as many as you like."""
    _run(serve_worker, host, metrics_port)


def gateway(
    host: HostOption = "127.0.0.1",
    metrics_port: Annotated[int | None, typer.Option(help="Port of /metrics; none if omitted.")] = None,
) -> None:
    """Speak with the boxes over MQTT: take their reports, judge PINs, open doors. Run as many as you like."""
    _run(serve_gateway, host, metrics_port)


def _run(serve: Callable[[Settings], Coroutine[Any, Any, None]], host: str, metrics_port: int | None) -> None:
    chosen = settings()
    start_logs(chosen.log_level)
    if metrics_port is not None:
        start_http_server(metrics_port, addr=host)
    uvloop.run(serve(chosen))


def check(tenant: Annotated[str | None, typer.Option("--tenant", help="Only this tenant.")] = None) -> None:
    """Check the invariants on the live database; exit 1 on a breach."""
    findings = run(lambda core: checking.check(core, tenant))
    table = Table("", "Invariant", "Breaches")
    for finding in findings:
        count = str(len(finding.breaches) or "none")
        table.add_row(str(finding.number), finding.invariant, count, style="red" if finding.breaches else "")
    Console().print(table)
    broken = [f"{finding.number}: {breach}" for finding in findings for breach in finding.breaches[:5]]
    if broken:
        raise fail("\n".join(broken))
    Console().print("All hold.", highlight=False)


def demo(
    as_json: JsonOption = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Begin with an empty database.")] = False,
    port: Annotated[int, typer.Option(help="Port of the API.")] = 8080,
) -> None:
    """A whole sandbox on loopback, from nothing but a reachable PostgreSQL."""
    try:
        demonstration.run(database_url(), port, fresh=fresh, as_json=as_json)
    except demonstration.DemoError as error:
        raise fail(str(error)) from None
