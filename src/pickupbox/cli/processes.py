"""The processes that nobody asks: they act by themselves, and on what boxes say."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

import typer
import uvloop
from prometheus_client import start_http_server

from pickupbox.cli.running import settings
from pickupbox.cli.speaking import MetricsOption
from pickupbox.devices.gateway import serve as serve_gateway
from pickupbox.settings import Settings
from pickupbox.telemetry import start_logs
from pickupbox.worker.process import serve as serve_worker

HostOption = Annotated[str, typer.Option(help="Address of /metrics.")]


def worker(
    host: HostOption = "127.0.0.1",
    metrics_port: MetricsOption = None,
) -> None:
    """Act on deadlines, deliver webhooks, seal the audit chain, keep what must be kept. Run as many as you like."""
    _run(serve_worker, host, metrics_port)


def gateway(
    host: HostOption = "127.0.0.1",
    metrics_port: MetricsOption = None,
) -> None:
    """Speak with the boxes over MQTT: take their reports, judge PINs, open doors. Run as many as you like."""
    _run(serve_gateway, host, metrics_port)


def _run(serve: Callable[[Settings], Coroutine[Any, Any, None]], host: str, metrics_port: int | None) -> None:
    chosen = settings()
    start_logs(chosen.log_level)
    if metrics_port is not None:
        start_http_server(metrics_port, addr=host)
    uvloop.run(serve(chosen))
