"""The HTTP processes, of the API and of the administration: Granian in front, one metrics page for all of them."""

import multiprocessing
import os
import tempfile

from granian import Granian
from granian.constants import HTTPModes, Interfaces, Loops
from granian.log import LogLevels
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector

STOP_SECONDS = 5


def serve(app: str, host: str, port: int, workers: int, metrics_port: int | None) -> None:
    """Serve the app that `module:factory` makes, until SIGTERM; a worker that dies is started again."""
    # Spawned, not forked: each worker then counts into files that the metrics page adds up.
    multiprocessing.set_start_method("spawn", force=True)
    with tempfile.TemporaryDirectory(prefix="pickupbox-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        if metrics_port is not None:
            registry = CollectorRegistry()
            MultiProcessCollector(registry, path=folder)  # type: ignore[no-untyped-call]
            start_http_server(metrics_port, addr=host, registry=registry)
        Granian(
            app,
            factory=True,
            address=host,
            port=port,
            interface=Interfaces.ASGI,
            workers=workers,
            loop=Loops.uvloop,
            http=HTTPModes.http1,
            websockets=False,
            log_level=LogLevels.warning,
            respawn_failed_workers=True,
            workers_kill_timeout=STOP_SECONDS,
        ).serve()
