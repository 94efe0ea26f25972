"""Deliveries per second, by a worker as in production, and by a bare loop of the same HTTP client."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from bench.ours import free_port
from bench.street import Street, run_sql
from pickupbox.domain.lifecycle import Event
from pickupbox.usecases.core import Caller, open_core
from pickupbox.usecases.endpoints import add_endpoint

ENDPOINTS = 5
CONCURRENCY = 64
LIMIT_SECONDS = 120


@contextmanager
def receiver() -> Iterator[int]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "bench.receiver", str(port)])
    try:
        _tally(port)
        yield port
    finally:
        process.terminate()
        process.wait(15)


def _tally(port: int) -> tuple[int, float]:
    """Posts since the last question, and the seconds from the first to the last of them."""
    for _ in range(200):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1) as answer:
                told = json.load(answer)
                return told["posts"], told["seconds"]
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the receiver does not answer")


def bare_per_second(port: int, count: int) -> float:
    command = [sys.executable, "-m", "bench.posting", str(port), str(count), str(CONCURRENCY)]
    subprocess.run(command, check=True, timeout=LIMIT_SECONDS)
    return _rate(port, count)


def delivered_per_second(street: Street, port: int, count: int) -> float:
    """A worker meets `count` lanes that are due; how fast the receiver got them."""
    _fill(street, port, count)
    environment = {**os.environ, **street.settings.variables()}
    environment |= {"PICKUPBOX_WEBHOOK_LOOPBACK": "true", "PICKUPBOX_WEBHOOK_CONCURRENCY": str(CONCURRENCY)}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen([sys.executable, "-m", "pickupbox", "worker"], env=environment, stderr=log)
        try:
            _wait_until_empty(street)
        finally:
            process.terminate()
            process.wait(15)
    run_sql(
        street.settings, "DELETE FROM events WHERE type = 'bench'", "TRUNCATE webhook_attempts", "VACUUM webhook_lanes"
    )
    return _rate(port, count)


def _rate(port: int, count: int) -> float:
    posts, seconds = _tally(port)
    if posts != count:
        raise RuntimeError(f"the receiver got {posts} posts, not {count}")
    return posts / seconds


def _wait_until_empty(street: Street) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < end:
        if not run_sql(street.settings, "SELECT EXISTS (SELECT FROM webhook_lanes)"):
            return
        time.sleep(0.5)
    raise RuntimeError("the worker does not get done")


def _fill(street: Street, port: int, count: int) -> None:
    """Events of `count` shipments, each with a lane, shared out among the tenant's endpoints."""
    endpoints = asyncio.run(_endpoints(street, port, ENDPOINTS, Event.REMOVED))  # a type that no create tells
    run_sql(
        street.settings,
        f"""
        INSERT INTO events (shipment_created_at, tenant_id, shipment_id, sequence, step, id, type, occurred_at, data)
        SELECT now(), '{street.tenant}', 'shp_bench_lane' || lpad(n::text, 20, '0'), 1, 1,
            'evt_bench_' || lpad(n::text, 32, '0'), 'bench', now(),
            json_build_object('shipment_id', 'shp_bench_' || lpad(n::text, 32, '0'), 'external_order_id',
                'order-' || n, 'attempt_number', 1, 'retry_of_shipment_id', null, 'box_id',
                'box_bench_' || lpad(n::text, 32, '0'), 'box_name', 'Central Station', 'compartment_code', 'A1',
                'status', 'reserved', 'compartment_state', 'reserved', 'pickup_available_at', null,
                'pickup_expires_at', null)
        FROM generate_series(1, {count}) AS n
        """,
        f"""
        INSERT INTO webhook_lanes (tenant_id, endpoint_id, shipment_id, shipment_created_at, waiting)
        SELECT tenant_id, (ARRAY{endpoints!r})[1 + right(shipment_id, 6)::int % {len(endpoints)}], shipment_id,
            shipment_created_at, ARRAY[1] FROM events WHERE type = 'bench'
        """,
        "VACUUM ANALYZE webhook_lanes",
        "VACUUM ANALYZE events",
        "CHECKPOINT",
    )


@contextmanager
def subscribed(street: Street, port: int) -> Iterator[None]:
    """While this lasts, one endpoint subscribes to what creates tell; nobody delivers."""
    asyncio.run(_endpoints(street, port, 1, Event.RESERVED))
    yield
    asyncio.run(_endpoints(street, port, 0, Event.RESERVED))


async def _endpoints(street: Street, port: int, count: int, event_type: Event) -> list[str]:
    """New endpoints in place of those that there were."""
    core = open_core(street.settings.model_copy(update={"webhook_loopback": True}))
    async with core.db.connection() as connection:
        await connection.execute("UPDATE webhook_endpoints SET removed_at = now() WHERE removed_at IS NULL")
    url = f"http://127.0.0.1:{port}/"
    made = [await add_endpoint(core, Caller(street.tenant, "bench"), url, "", [event_type]) for _ in range(count)]
    await core.db.close()
    return [endpoint.id for endpoint in made]
