"""`python -m bench.sdk [quick]`: what a call costs with the SDK, and with the HTTP client that it is made of.

All ask the same API on loopback, which answers at once, over one kept connection. The bare client is used as people use
it, and parses the JSON; the lean one is given its request as the SDK makes it, so that what remains is the SDK's own:
retries, judging, models. They take turns call by call, and the medians are compared.
"""

import asyncio
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from pickupbox_sdk import AsyncPickupbox, Pickupbox, calls
from pickupbox_sdk.calls import Call
from pickupbox_sdk.exchange import Address, address_of, request_of
from rich.console import Console
from rich.table import Table

from bench.instant import EVENTS

KEY = "pbx_test_c1_bench"
SHIPMENT = "shp_c1_01a1d92f05e0a3b1c2d3e4f506172849"
BOX = "box_c1_01a0f6434980a1b2c3d4e5f60718293a"
TIMEOUT = 10.0
GOAL = 1.15


@dataclass(frozen=True, slots=True)
class Contest:
    """One call, as a request and as a method of the SDK."""

    call: Call[Any]
    sdk: Callable[[Any], Any]

    def bare(self, http: Any) -> Any:
        return http.request(self.call.method, self.call.path, params=self.call.params, json=self.call.body)

    def lean(self, http: Any, address: Address) -> Any:
        return http.send(request_of(self.call, address, TIMEOUT))


CONTESTS = {
    "get_shipment": Contest(calls.get_shipment(SHIPMENT), lambda shop: shop.get_shipment(SHIPMENT)),
    "create_shipment": Contest(
        calls.create_shipment(BOX, "order-1042", "Ada"),
        lambda shop: shop.create_shipment(BOX, "order-1042", customer_name="Ada"),
    ),
    "list_boxes": Contest(calls.list_boxes(), lambda shop: shop.list_boxes()),
    f"list_events, {EVENTS}": Contest(calls.list_events(None, EVENTS), lambda shop: shop.list_events(limit=EVENTS)),
}
CONTESTANTS = ("bare", "lean", "SDK")


@contextmanager
def instant_api() -> Iterator[str]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", "bench.instant", str(port)])
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(10)


def turns(calls: int) -> Iterator[str]:
    for number in range(calls):
        yield from (CONTESTANTS[(number + place) % 3] for place in range(3))


def sync_medians(url: str, calls: int) -> dict[str, dict[str, float]]:
    address = address_of(KEY, url)
    found = {}
    with httpx2.Client(base_url=url, headers=address.headers, timeout=TIMEOUT) as http, Pickupbox(KEY, url) as shop:
        for name, contest in CONTESTS.items():
            took: dict[str, list[float]] = {contestant: [] for contestant in CONTESTANTS}
            for contestant in turns(calls):
                began = time.perf_counter()
                if contestant == "SDK":
                    contest.sdk(shop)
                elif contestant == "lean":
                    contest.lean(http, address).json()
                else:
                    contest.bare(http).json()
                took[contestant].append(time.perf_counter() - began)
            found[name] = _medians(took)
    return found


async def async_medians(url: str, calls: int) -> dict[str, dict[str, float]]:
    address = address_of(KEY, url)
    found = {}
    async with (
        httpx2.AsyncClient(base_url=url, headers=address.headers, timeout=TIMEOUT) as http,
        AsyncPickupbox(KEY, url) as shop,
    ):
        for name, contest in CONTESTS.items():
            took: dict[str, list[float]] = {contestant: [] for contestant in CONTESTANTS}
            for contestant in turns(calls):
                began = time.perf_counter()
                if contestant == "SDK":
                    await contest.sdk(shop)
                elif contestant == "lean":
                    (await contest.lean(http, address)).json()
                else:
                    (await contest.bare(http)).json()
                took[contestant].append(time.perf_counter() - began)
            found[name] = _medians(took)
    return found


def _medians(took: dict[str, list[float]]) -> dict[str, float]:
    """In microseconds, without the first tenth, which only warms up."""
    return {name: statistics.median(each[len(each) // 10 :]) * 1e6 for name, each in took.items()}


def main() -> None:
    calls = 1000 if "quick" in sys.argv[1:] else 5000
    with instant_api() as url:
        found = {"sync": sync_medians(url, calls), "async": asyncio.run(async_medians(url, calls))}
    table = Table("", "", *(f"{name}, µs" for name in CONTESTANTS), "/ bare", "/ lean")
    over: dict[str, list[float]] = {"bare": [], "lean": []}
    for client, medians in found.items():
        for name, took in medians.items():
            ratios = {other: took["SDK"] / took[other] for other in over}
            for other, ratio in ratios.items():
                over[other].append(ratio)
            shown = (f"{took[each]:.0f}" for each in CONTESTANTS)
            table.add_row(name, client, *shown, *(f"{ratio:.3f}" for ratio in ratios.values()))
    Console().print(table)
    figures = {"sdk_overhead_ratio": round(max(over["bare"]), 3), "goal": f"<= {GOAL}"}
    print(json.dumps(figures | {"lean_overhead_ratio": round(max(over["lean"]), 3)}))


if __name__ == "__main__":
    main()
