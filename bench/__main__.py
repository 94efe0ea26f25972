"""`python -m bench [quick]`: API, delivery and gateway against bare engines, and against themselves, in one run;
and how long the long lists of the administration take."""

import json
import statistics
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from bench import admin_pages, bare, deliveries, gateway, keypads, ours
from bench.street import Street, clear_live, fill_history, known_ids, street
from bench.yard import Yard, yard

WORKERS = 2
GOALS = {
    "create_ratio": ">= 0.60",
    "read_ratio": ">= 0.20",
    "create_growth": "<= 1.2",
    "read_growth": "<= 1.2",
    "create_with_endpoint_ratio": "<= 1.25",
    "delivery_ratio": ">= 0.60",
    "gateway_ratio": ">= 0.60",
    "gateway_lean_ratio": "",
    "pin_to_open_p95_ms": "<= 150",
    "admin_page_ms": "<= 300",
}
KEYPADS = 200  # PINs a second


@dataclass(frozen=True, slots=True)
class Size:
    rounds: int
    seconds: int
    history: int
    deliveries: int
    door_cycles: int  # per box
    pin_seconds: int
    listed: int  # shipments in the administration's lists


QUICK = Size(rounds=3, seconds=1, history=50_000, deliveries=5_000, door_cycles=4, pin_seconds=10, listed=200_000)
FULL = Size(
    rounds=5, seconds=5, history=5_000_000, deliveries=30_000, door_cycles=20, pin_seconds=60, listed=10_000_000
)


def measure(size: Size) -> dict[str, list[float]]:
    """What each contestant reached per second, round by round; the contestants take turns."""
    reached: dict[str, list[float]] = {}
    with ExitStack() as stack:
        new, old = stack.enter_context(street()), stack.enter_context(street())
        # A table that was vacuumed while empty looks smaller to the planner than any real one.
        fill_history(new, 1000)
        fill_history(old, size.history)
        ids = {"new": known_ids(new), "old": known_ids(old)}
        ports = {name: stack.enter_context(ours.api(s, WORKERS)) for name, s in (("new", new), ("old", old))}
        shop = stack.enter_context(deliveries.receiver())
        for number in range(-1, size.rounds):
            for name, run in contestants(size, number, new, old, ports, ids, shop).items():
                result = run()
                if number >= 0:  # the first round only warms up
                    reached.setdefault(name, []).append(result)
    return reached


def measure_boxes(size: Size) -> tuple[dict[str, list[float]], list[float]]:
    """What gateway and bare clients reached per second, round by round; and how long PINs took, in milliseconds."""
    reached: dict[str, list[float]] = {}
    with yard(gateway.BOXES, size.door_cycles) as made:
        for number in range(-1, size.rounds):
            for name, run in box_contestants(made, size.door_cycles if number >= 0 else 2).items():
                result = run()
                if number >= 0:
                    reached.setdefault(name, []).append(result)
        return reached, keypads.pin_to_open_ms(made, size.pin_seconds, KEYPADS)


def box_contestants(made: Yard, cycles: int) -> dict[str, Callable[[], float]]:
    return {
        "report, bare": lambda: gateway.bare_per_second(made, cycles, "library"),
        "report, bare and lean": lambda: gateway.bare_per_second(made, cycles, "lean"),
        "report, gateway": lambda: gateway.gateway_per_second(made, cycles),
    }


def contestants(
    size: Size, number: int, new: Street, old: Street, ports: dict[str, int], ids: dict[str, list[str]], shop: int
) -> dict[str, Callable[[], float]]:
    seconds = size.seconds if number >= 0 else 1

    def then_clear(street: Street, create: Callable[[], float]) -> Callable[[], float]:
        def run() -> float:
            result = create()
            clear_live(street)
            return result

        return run

    def create_with_endpoint() -> float:
        with deliveries.subscribed(new, shop):
            return ours.creates_per_second(new, ports["new"], seconds, prefix + "-told")

    prefix = f"round-{number + 1}"
    count = size.deliveries if number >= 0 else 1000
    return {
        "create, bare": then_clear(new, lambda: bare.creates_per_second(new, seconds, number)),
        "create, API": then_clear(new, lambda: ours.creates_per_second(new, ports["new"], seconds, prefix)),
        "create, API with an endpoint": then_clear(new, create_with_endpoint),
        "create, API with history": then_clear(
            old, lambda: ours.creates_per_second(old, ports["old"], seconds, prefix)
        ),
        "read, bare": lambda: bare.reads_per_second(new, seconds, ids["new"]),
        "read, API": lambda: ours.reads_per_second(new, ports["new"], seconds, ids["new"]),
        "read, API with history": lambda: ours.reads_per_second(old, ports["old"], seconds, ids["old"]),
        "post, bare": lambda: deliveries.bare_per_second(shop, count),
        "post, delivered": lambda: deliveries.delivered_per_second(new, shop, count),
    }


def ratios(reached: dict[str, list[float]]) -> dict[str, float]:
    """The median over the rounds of each round's own ratio."""

    def over(above: str, below: str) -> float:
        return round(statistics.median(a / b for a, b in zip(reached[above], reached[below], strict=True)), 3)

    return {
        "create_ratio": over("create, API", "create, bare"),
        "read_ratio": over("read, API", "read, bare"),
        "create_growth": over("create, API", "create, API with history"),
        "read_growth": over("read, API", "read, API with history"),
        "create_with_endpoint_ratio": over("create, API", "create, API with an endpoint"),
        "delivery_ratio": over("post, delivered", "post, bare"),
        "gateway_ratio": over("report, gateway", "report, bare"),
        "gateway_lean_ratio": over("report, gateway", "report, bare and lean"),
    }


def main() -> None:
    size = QUICK if "quick" in sys.argv[1:] else FULL
    console = Console()
    reached = measure(size)
    of_boxes, waited = measure_boxes(size)
    reached |= of_boxes
    table = Table("", "median/s", "lowest", "highest", title=f"{size.rounds} rounds of {size.seconds} s")
    for name, results in reached.items():
        table.add_row(name, *(f"{f(results):,.0f}" for f in (statistics.median, min, max)))
    console.print(table)
    found = ratios(reached) | {
        "pin_to_open_p95_ms": round(keypads.p95(waited), 1),
        "admin_page_ms": admin_pages.slowest(admin_pages.measure(size.listed)),
    }
    goals = Table("ratio", "measured", "goal", title=f"history: {size.history:,} finished shipments")
    for name, value in found.items():
        goals.add_row(name, f"{value:.2f}", GOALS[name])
    console.print(goals)
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
