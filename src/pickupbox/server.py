"""The HTTP processes, of the API and of the administration: Granian in front, one metrics page for all of them."""

import multiprocessing
import os
import resource
import tempfile

from granian import Granian
from granian.constants import HTTPModes, Interfaces, Loops
from granian.http import HTTP1Settings
from granian.log import LogLevels
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector

STOP_SECONDS = 5
CONNECTIONS = 8_192  # of one process, more than pages may watch; who comes after them waits until one is closed
WAITING = 4_096  # connections that nobody has taken yet
HEAD_SECONDS = 30  # for the head of a request; also how long a connection may idle between two
OTHER_FILES = 512  # what a process opens besides connections of visitors


def serve(app: str, host: str, port: int, workers: int, metrics_port: int | None) -> None:
    """Serve the app that `module:factory` makes, until SIGTERM; a worker that dies is started again."""
    # Spawned, not forked: each worker then counts into files that the metrics page adds up.
    multiprocessing.set_start_method("spawn", force=True)
    connections = room_for_connections()
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
            backlog=WAITING,
            backpressure=connections,
            http=HTTPModes.http1,
            http1_settings=HTTP1Settings(header_read_timeout=HEAD_SECONDS * 1000),
            websockets=False,
            log_level=LogLevels.warning,
            respawn_failed_workers=True,
            workers_kill_timeout=STOP_SECONDS,
        ).serve()


def room_for_connections() -> int:
    """How many this machine lets us take. Each is an open file, of which many allow 1,024 unless a process asks."""
    wanted = CONNECTIONS + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(allowed - OTHER_FILES, 1)
