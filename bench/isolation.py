"""`python -m bench.isolation [quick]`: do bad endpoints slow the good ones?

Two streets with the same healthy shops and the same traffic, in turns. In one of them are three bad shops as well: one
is dead with a mountain of events waiting, one never answers, one answers a byte a second.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import uvloop
from rich.console import Console
from rich.table import Table

from bench.ours import free_port
from bench.street import run_sql, street
from pickupbox.database import lanes
from pickupbox.settings import Settings
from pickupbox.usecases.boxes import add_box, default_setup
from pickupbox.usecases.core import Caller, Core, open_core
from pickupbox.usecases.endpoints import add_endpoint
from pickupbox.usecases.reserve import Wish, reserve
from pickupbox.usecases.tenants import add_tenant


@dataclass(frozen=True, slots=True)
class Size:
    waiting: int
    healthy: int
    rounds: int
    seconds: int
    per_second: int


QUICK = Size(waiting=20_000, healthy=20, rounds=2, seconds=4, per_second=100)
FULL = Size(waiting=1_000_000, healthy=97, rounds=5, seconds=20, per_second=150)


@dataclass(frozen=True, slots=True)
class Ports:
    healthy: int
    hangs: int
    drips: int
    dead: int


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    settings: Settings
    boxes: list[tuple[str, str]]  # tenant and box


@contextmanager
def shops() -> Iterator[Ports]:
    ports = Ports(*(free_port() for _ in range(4)))
    command = [sys.executable, "-m", "bench.shops", str(ports.healthy), str(ports.hangs), str(ports.drips)]
    process = subprocess.Popen(command)
    try:
        receipts(ports)
        yield ports
    finally:
        process.terminate()
        process.wait(15)


def receipts(ports: Ports) -> list[float]:
    """Seconds from commit to receipt of what the healthy got since the last question."""
    for _ in range(200):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{ports.healthy}/", timeout=5) as answer:
                told: list[float] = json.load(answer)
                return told
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the shops do not answer")


@contextmanager
def neighbourhood(size: Size, ports: Ports, bad: list[int]) -> Iterator[Neighbourhood]:
    """Tenants with one endpoint each: the healthy, and one for each of the bad ports."""
    with street(boxes=1) as made:
        settings = made.settings.model_copy(update={"webhook_loopback": True})
        boxes, dead = asyncio.run(_open_shops(settings, [ports.healthy] * size.healthy + bad, ports.dead))
        if dead is not None:
            _pile_up(settings, dead, size.waiting)
        yield Neighbourhood(settings, boxes)


async def _open_shops(
    settings: Settings, ports: list[int], dead_port: int
) -> tuple[list[tuple[str, str]], tuple[str, str] | None]:
    core = open_core(settings)
    boxes, dead = [], None
    for port in ports:
        tenant = await add_tenant(core, "Shop")
        endpoint = await add_endpoint(core, Caller(tenant, "bench"), f"http://127.0.0.1:{port}/", "", None)
        for _ in range(2):
            box = await add_box(core, tenant, default_setup(core, "Box"), 500)
            if box is not None:
                boxes.append((tenant, box))
        if port == dead_port:
            dead = tenant, endpoint.id
    await core.db.close()
    return boxes, dead


def _pile_up(settings: Settings, dead: tuple[str, str], count: int) -> None:
    tenant, endpoint = dead
    run_sql(
        settings,
        f"""
        INSERT INTO events (shipment_created_at, tenant_id, shipment_id, sequence, step, id, type, occurred_at, data)
        SELECT now(), '{tenant}', 'shp_bench_dead' || lpad(n::text, 20, '0'), 1, 1,
            'evt_bench_' || lpad(n::text, 32, '0'), 'reserved', now(), '{{}}' FROM generate_series(1, {count}) AS n
        """,
        f"""
        INSERT INTO webhook_lanes (tenant_id, endpoint_id, shipment_id, shipment_created_at, waiting)
        SELECT tenant_id, '{endpoint}', shipment_id, shipment_created_at, ARRAY[1] FROM events
        WHERE tenant_id = '{tenant}'
        """,
        "VACUUM ANALYZE webhook_lanes",
        "VACUUM ANALYZE events",
        "CHECKPOINT",
    )


@contextmanager
def worker(settings: Settings) -> Iterator[None]:
    with tempfile.TemporaryFile() as log:
        command = [sys.executable, "-m", "pickupbox", "worker"]
        process = subprocess.Popen(command, env={**os.environ, **settings.variables()}, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait(15)


async def traffic(core: Core, size: Size, boxes: list[tuple[str, str]], prefix: str) -> int:
    """Reservations at a steady pace, tenant after tenant; how many healthy shops are to be told."""

    async def one(number: int) -> None:
        tenant, box = boxes[number % len(boxes)]
        await reserve(core, Caller(tenant, "bench"), Wish(box, f"{prefix}-{number}"))

    begun = time.monotonic()
    async with asyncio.TaskGroup() as under_way:
        for number in range(size.seconds * size.per_second):
            await asyncio.sleep(max(0.0, begun + number / size.per_second - time.monotonic()))
            under_way.create_task(one(number))
    return sum(number % len(boxes) < 2 * size.healthy for number in range(size.seconds * size.per_second))


def p95_of_a_round(size: Size, place: Neighbourhood, ports: Ports, prefix: str) -> float:
    async def drive(size: Size, boxes: list[tuple[str, str]], prefix: str) -> int:
        core = open_core(place.settings)
        count = await traffic(core, size, boxes, prefix)
        await core.db.close()
        return count

    receipts(ports)
    with worker(place.settings):
        first = uvloop.run(drive(replace(size, seconds=1, per_second=1), place.boxes[:1], f"{prefix}-first"))
        wait_for(ports, first, seconds=60)
        time.sleep(2)  # it has started, and meets the bad ones for the first time
        expected = uvloop.run(drive(size, place.boxes, prefix))
        got = wait_for(ports, expected, seconds=30)
    return statistics.quantiles(got, n=20)[-1]


def wait_for(ports: Ports, expected: int, seconds: int) -> list[float]:
    got: list[float] = []
    end = time.monotonic() + seconds
    while len(got) < expected and time.monotonic() < end:
        time.sleep(0.3)
        got += receipts(ports)
    if len(got) < expected:
        raise RuntimeError(f"only {len(got)} of {expected} events arrived within {seconds} s")
    return got


async def seconds_of_claims(settings: Settings) -> list[float]:
    """How long it takes to find the turns and claim from each, at this backlog."""
    core = open_core(settings)
    taken = []
    async with core.db.connection() as connection:
        for _ in range(55):
            begun = time.perf_counter()
            async with connection.transaction():
                turns, _ = await lanes.turns(connection, "", 500)
                claimed = await lanes.claim(connection, [lanes.Wish(t.endpoint_id, 4, probe=False) for t in turns])
                taken.append(time.perf_counter() - begun)
            await lanes.give_back(connection, claimed)
    await core.db.close()
    return taken[5:]  # the first ones make the plans


@dataclass(frozen=True, slots=True)
class Found:
    """p95 of each round, and how long claims take at the backlog, in seconds."""

    alone: list[float]
    beside: list[float]
    claims: list[float]


def measure(size: Size) -> Found:
    found = Found([], [], [])
    with ExitStack() as stack:
        ports = stack.enter_context(shops())
        good = stack.enter_context(neighbourhood(size, ports, []))
        mixed = stack.enter_context(neighbourhood(size, ports, [ports.dead, ports.hangs, ports.drips]))
        for number in range(size.rounds):
            found.alone.append(p95_of_a_round(size, good, ports, f"round-{number}"))
            found.beside.append(p95_of_a_round(size, mixed, ports, f"round-{number}"))
        found.claims.extend(asyncio.run(seconds_of_claims(mixed.settings)))
    return found


def main() -> None:
    size = QUICK if "quick" in sys.argv[1:] else FULL
    found = measure(size)
    table = Table("p95 from commit to receipt", "median of rounds", "lowest", "highest")
    for name, rounds in ((f"{size.healthy} healthy alone", found.alone), ("beside three bad ones", found.beside)):
        table.add_row(name, *(f"{f(rounds) * 1000:.0f} ms" for f in (statistics.median, min, max)))
    Console().print(table)
    result = {
        "isolation_ratio": round(statistics.median(b / a for a, b in zip(found.alone, found.beside, strict=True)), 3),
        "p95_ms": round(statistics.median(found.beside) * 1000, 1),
        "claim_ms": round(statistics.median(found.claims) * 1000, 2),
        "claim_p95_ms": round(statistics.quantiles(found.claims, n=20)[-1] * 1000, 2),
        "waiting": size.waiting,
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
