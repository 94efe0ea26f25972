"""Prometheus metrics: counted per operation and status, on a port of their own."""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from prometheus_client import REGISTRY

from pickupbox.settings import Settings
from tests.support.databases import environment_of
from tests.support.shop import Shop


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0


async def test_every_request_is_counted_under_its_operation_and_status(shop: Shop) -> None:
    async def counted() -> list[float]:
        return [
            value("pickupbox_request_seconds_count", operation=operation, status=status)
            for operation, status in (("list_boxes", "200"), ("get_shipment", "404"), ("none", "404"))
        ]

    before = await counted()
    await shop.boxes()
    await shop.read("x")
    await shop.http.get("/nothing")
    assert [after - then for after, then in zip(await counted(), before, strict=True)] == [1, 1, 1]


async def test_a_path_is_never_a_label(shop: Shop) -> None:
    shipment_id = await shop.reserved("order-1", "fault")
    await shop.read("made-up-by-a-stranger")
    labels = {v for metric in REGISTRY.collect() for sample in metric.samples for v in sample.labels.values()}
    made_up_or_private = ("made-up-by-a-stranger", shipment_id, shop.tenant, "order-1")
    assert [label for label in labels if any(word in label for word in made_up_or_private)] == []


async def test_refusals_are_counted_by_code(shop: Shop) -> None:
    before = value("pickupbox_refusals_total", code="box_not_found")
    await shop.reserve("order-1", "nothing")
    assert value("pickupbox_refusals_total", code="box_not_found") == before + 1


async def test_steps_and_reservations_are_counted(shop: Shop) -> None:
    def counted() -> list[float]:
        outcomes = [value("pickupbox_reservations_total", outcome=outcome) for outcome in ("made", "replayed")]
        return [*outcomes, value("pickupbox_steps_total", trigger="load")]

    before = counted()
    await shop.reserved("order-1", "loaded")
    await shop.reserve("order-1")
    assert [after - then for after, then in zip(counted(), before, strict=True)] == [1, 1, 1]


async def test_the_metrics_page_stands_on_a_port_of_its_own(settings: Settings, shop: Shop) -> None:
    port, metrics_port = _free_port(), _free_port()
    async with _api_process(settings, port, metrics_port), httpx.AsyncClient() as client:
        answer = await client.get(
            f"http://127.0.0.1:{port}/v1/boxes", headers={"authorization": f"Bearer {shop.api_key}"}
        )
        assert [item["id"] for item in answer.json()["items"]] == [shop.box_id]
        assert (await client.get(f"http://127.0.0.1:{port}/metrics")).status_code == 404
        page = await client.get(f"http://127.0.0.1:{metrics_port}/metrics")
    assert page.status_code == 200
    assert 'pickupbox_request_seconds_count{operation="list_boxes",status="200"} 1.0' in page.text


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


@asynccontextmanager
async def _api_process(settings: Settings, port: int, metrics_port: int) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pickupbox", "api", "--port", str(port), "--metrics-port", str(metrics_port)),
        env=environment_of(settings),
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(20), httpx.AsyncClient() as client:
            while not await _ready(client, port):
                assert process.returncode is None
                await asyncio.sleep(0.1)
        yield
    finally:
        process.terminate()
        await process.wait()


async def _ready(client: httpx.AsyncClient, port: int) -> bool:
    try:
        return (await client.get(f"http://127.0.0.1:{port}/readyz")).status_code == 200
    except httpx.TransportError:
        return False
