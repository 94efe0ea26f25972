"""Ours: the API as in production (authentication, rate limit, encryption, logs, metrics), loaded by wrk."""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.street import Street

CALLERS = 128

CREATE = """
local boxes = {%(boxes)s}
local n, thread = 0, 0
function setup(t) t:set("number", thread); thread = thread + 1 end
wrk.headers["Authorization"] = "Bearer %(key)s"
wrk.headers["Content-Type"] = "application/json"
function request()
    n = n + 1
    local body = string.format('{"box_id": "%%s", "external_order_id": "%(prefix)s-%%02d-%%010d"}',
        boxes[math.random(#boxes)], number, n)
    return wrk.format("POST", "/v1/shipments", nil, body)
end
"""
READ = """
local ids = {%(ids)s}
wrk.headers["Authorization"] = "Bearer %(key)s"
function request() return wrk.format("GET", "/v1/shipments/" .. ids[math.random(#ids)]) end
"""
REPORT = """
function done(summary, latency)
    io.write(string.format("RESULT %d %d %d %.3f %.3f\\n", summary.requests, summary.duration,
        summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout,
        latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
"""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def api(street: Street, workers: int) -> Iterator[int]:
    """The API's processes on a free port of loopback."""
    port = free_port()
    environment = {
        **os.environ,
        **street.settings.variables(),
        "PICKUPBOX_RATE_LIMIT_URL": "memory://" if workers == 1 else "redis://127.0.0.1:6379/14",
    }
    command = [sys.executable, "-m", "pickupbox", "api", f"--port={port}", f"--workers={workers}"]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, env=environment, stderr=log, stdout=log)
        try:
            _wait_until_ready(port)
            yield port
        finally:
            process.terminate()
            process.wait(15)


def _wait_until_ready(port: int) -> None:
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=1) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError("the API did not become ready")


def creates_per_second(street: Street, port: int, seconds: int, prefix: str) -> float:
    boxes = ", ".join(f'"{box}"' for box in street.boxes)
    return _wrk(port, CREATE % {"boxes": boxes, "key": street.api_key, "prefix": prefix}, seconds)


def reads_per_second(street: Street, port: int, seconds: int, ids: list[str]) -> float:
    return _wrk(port, READ % {"ids": ", ".join(f'"{i}"' for i in ids), "key": street.api_key}, seconds)


def _wrk(port: int, script: str, seconds: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "script.lua"
        path.write_text(script + REPORT)
        command = [
            "wrk",
            "-t1",
            f"-c{CALLERS}",
            f"-d{seconds}s",
            "--latency",
            "-s",
            str(path),
            f"http://127.0.0.1:{port}",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 60, check=False)
    time.sleep(0.5)  # wrk leaves while its last requests are still being answered
    found = re.search(r"RESULT (\d+) (\d+) (\d+) ([\d.]+) ([\d.]+)", done.stdout)
    if not found:
        raise RuntimeError(f"wrk failed: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    requests, microseconds, errors, _, _ = found.groups()
    if int(errors):
        raise RuntimeError(f"{errors} requests did not succeed: {done.stdout[-1000:]}")
    return int(requests) / (int(microseconds) / 1e6)
