"""`python -m bench.crowd [quick]`: boxes that do nothing but live, all connected to one broker and one gateway process.

Each sends a heartbeat every 15 s, spread evenly, and hears its answer. Broker, gateway, PostgreSQL and all the boxes
share the machine. It fails if a box was cut off, or a heartbeat not answered before the box's next one.
"""

import asyncio
import json
import os
import resource
import secrets
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import orjson
import uvloop
from rich.console import Console
from rich.table import Table

from bench.boxes import LightBox, connect_boxes
from bench.street import run_sql
from bench.yard import GATEWAY, Yard, listening, yard
from pickupbox.devices.messages import Ack, Heartbeat
from pickupbox.devices.wire import encode

EVERY_SECONDS = 15


@dataclass(frozen=True, slots=True)
class Size:
    boxes: int
    seconds: int


QUICK = Size(boxes=500, seconds=20)
FULL = Size(boxes=5000, seconds=600)


@dataclass(slots=True)
class Lived:
    sent: int = 0
    late: int = 0  # heartbeats that had no answer when the next one of their box was due
    fewest_connected: int = sys.maxsize
    answer_ms: list[float] = field(default_factory=list)


async def live(yard: Yard, size: Size) -> Lived:
    boxes = await connect_boxes(yard.port, yard.devices())
    lived, boot = Lived(), secrets.token_hex(8)
    waiting: dict[str, tuple[str, float]] = {}  # by device: the heartbeat and when it was sent

    def hear(box: LightBox, kind: str, payload: bytes) -> None:
        if kind == Ack.kind and box.device in waiting and waiting[box.device][0] == orjson.loads(payload)["about"]:
            lived.answer_ms.append((time.perf_counter() - waiting.pop(box.device)[1]) * 1000)

    for box in boxes:
        box.hear = hear
    began = time.perf_counter()
    for number in count():
        due = began + number * EVERY_SECONDS / len(boxes)
        if due > began + size.seconds:
            break
        if (early := due - time.perf_counter()) > 0:
            await asyncio.sleep(early)
        box = boxes[number % len(boxes)]
        lived.late += box.device in waiting
        beat = Heartbeat(
            id=f"msg_{number}", at=datetime.now(UTC), boot=boot, seq=0, open_doors=[], software="pickupbox 0.1.0"
        )
        waiting[box.device] = (beat.id, time.perf_counter())
        box.publish(Heartbeat.kind, encode(beat))
        lived.sent += 1
        if number % 1000 == 0:
            lived.fewest_connected = min(lived.fewest_connected, sum(one.connected for one in boxes))
    await asyncio.sleep(EVERY_SECONDS / 3)  # for the last answers
    lived.late += len(waiting)
    lived.fewest_connected = min(lived.fewest_connected, sum(one.connected for one in boxes))
    for box in boxes:
        box.close()
    return lived


def seconds_used(process: int) -> float:
    """Of a core, since it began."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib(process: int) -> float:
    (line,) = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


@contextmanager
def room_for(connections: int) -> Iterator[None]:
    """As many open files as that needs; whoever is started inherits it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < connections:
        raise SystemExit(f"This needs {connections} open files, and the limit is {hard} (ulimit -n).")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, connections), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def measure(size: Size) -> dict[str, float]:
    with room_for(size.boxes + 200), yard(size.boxes, compartments=2) as made, listening(made, *GATEWAY) as gateway:
        processes = {"gateway": gateway, "broker": made.broker, "boxes": os.getpid()}
        before = {name: seconds_used(process) for name, process in processes.items()}
        began = time.perf_counter()
        lived = uvloop.run(live(made, size))
        seconds = time.perf_counter() - began
        found = {
            f"{name}_core": (seconds_used(process) - before[name]) / seconds for name, process in processes.items()
        }
        found |= {f"{name}_mib": peak_mib(process) for name, process in processes.items()}
        seen = run_sql(made.settings, "SELECT count(*) FROM devices WHERE last_seen_at > now() - interval '30 seconds'")
    cuts = statistics.quantiles(lived.answer_ms, n=100)
    found = {name: round(value, 3) for name, value in found.items()}
    return found | {
        "boxes": size.boxes,
        "seconds": size.seconds,
        "fewest_connected": lived.fewest_connected,
        "seen_at_the_end": int(str(seen)),
        "heartbeats": lived.sent,
        "answered": len(lived.answer_ms),
        "late": lived.late,
        "answer_p50_ms": round(cuts[49], 1),
        "answer_p95_ms": round(cuts[94], 1),
        "answer_p99_ms": round(cuts[98], 1),
    }


def main() -> None:
    found = measure(QUICK if "quick" in sys.argv[1:] else FULL)
    table = Table("", "measured")
    for name, value in found.items():
        table.add_row(name.replace("_", " "), f"{value:,}")
    Console().print(table)
    sys.stdout.write(json.dumps(found) + "\n")
    whole = found["fewest_connected"] == found["seen_at_the_end"] == found["boxes"]
    if not whole or found["late"] or found["answered"] != found["heartbeats"]:
        raise SystemExit("Not every box lived all the time.")


if __name__ == "__main__":
    main()
