"""The processes that answer over HTTP."""

import os
from typing import Annotated

import typer

from pickupbox.cli.running import settings
from pickupbox.cli.speaking import MetricsOption, fail
from pickupbox.server import serve

HostOption = Annotated[str, typer.Option(help="Address to listen on.")]


def api(
    host: HostOption = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of the API.")] = 8080,
    workers: Annotated[int, typer.Option(min=1, help="Processes. More than one needs PICKUPBOX_RATE_LIMIT_URL.")] = 1,
    metrics_port: MetricsOption = None,
) -> None:
    """Serve the public API."""
    chosen = settings()
    if chosen.rate_limit_url == "memory://" and workers > 1:
        raise fail("Several API processes must share their rate limits: set PICKUPBOX_RATE_LIMIT_URL=redis://…")
    os.environ.update(chosen.variables())  # its processes read them anew, and on a demo's database none may be set
    serve("pickupbox.api.app:create", host, port, workers, metrics_port)


def admin(
    host: HostOption = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of the pages.")] = 8090,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    metrics_port: MetricsOption = None,
) -> None:
    """Serve the pages for administrators and operators. Behind a proxy that speaks https."""
    os.environ.update(settings().variables())
    serve("pickupbox.admin.app:create", host, port, workers, metrics_port)
