"""A shop's receiver on a real socket, and a worker's delivery that runs beside the test."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from pickupbox.domain.lifecycle import Event
from pickupbox.usecases.core import Core
from pickupbox.usecases.endpoints import IssuedEndpoint, add_endpoint
from pickupbox.webhooks.delivery import Delivery
from pickupbox.webhooks.egress import Egress
from tests.support.shop import Shop

NOBODY = "http://127.0.0.1:9/hook"  # an address at which nobody listens


@dataclass(frozen=True, slots=True)
class Received:
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> Any:
        return json.loads(self.body)


type Reply = Callable[[Received], Awaitable[web.Response]]


async def accept(_: Received) -> web.Response:
    return web.Response()


def always(status: int, body: bytes = b"", **headers: str) -> Reply:
    async def reply(_: Received) -> web.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, body=body, headers=named)

    return reply


@dataclass
class Receiver:
    url: str = ""
    reply: Reply = accept
    got: list[Received] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    _came: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def take(self, request: web.BaseRequest) -> web.Response:
        received = Received(dict(request.headers), await request.read())
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        async with self._came:
            self.got.append(received)
            self._came.notify_all()
        try:
            return await self.reply(received)
        finally:
            self.at_once -= 1

    async def until(self, count: int, seconds: float = 5.0) -> list[Received]:
        """What was received, as soon as it is so many."""
        async with asyncio.timeout(seconds), self._came:
            await self._came.wait_for(lambda: len(self.got) >= count)
        return self.got

    def told(self) -> list[tuple[str, str]]:
        """Shipment and type of what came, in order."""
        return [(one.event["data"]["shipment_id"], one.event["type"]) for one in self.got]


@asynccontextmanager
async def open_receiver(port: int = 0) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    runner = web.ServerRunner(web.Server(receiver.take), shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
        yield receiver
    finally:
        await runner.cleanup()


@asynccontextmanager
async def delivering(
    core: Core, *, concurrency: int = 64, schedule: tuple[float, ...] = (0, 0.05, 0.05)
) -> AsyncIterator[Delivery]:
    """A worker's delivery; at the end it is told to stop and finishes what is under way."""
    egress = Egress(loopback=True, seconds=10)
    delivery = Delivery(core.db, core.vault, egress, concurrency=concurrency, schedule=schedule)
    stop = asyncio.Event()
    running = asyncio.create_task(delivery.run(stop))
    try:
        yield delivery
    finally:
        stop.set()
        async with asyncio.timeout(10):
            await running
        await egress.close()


async def subscribe(shop: Shop, url: str = NOBODY, *types: Event) -> IssuedEndpoint:
    return await add_endpoint(shop.core, shop.caller, url, "", types or None)


async def waiting(core: Core, tenant: str) -> list[tuple[str, str, list[int]]]:
    """Endpoint, shipment and the sequences that wait, of every lane of the tenant."""
    async with core.db.connection() as connection:
        rows = await connection.fetch(
            "SELECT endpoint_id, shipment_id, waiting FROM webhook_lanes WHERE tenant_id = $1 ORDER BY 1, 2", tenant
        )
    return [tuple(row.values()) for row in rows]


async def fetch(core: Core, statement: str, *values: object) -> list[tuple[Any, ...]]:
    async with core.db.connection() as connection:
        return [tuple(row.values()) for row in await connection.fetch(statement, *values)]


async def change(core: Core, statement: str, *values: object) -> None:
    async with core.db.connection() as connection:
        done = await connection.execute(statement, *values)
    assert not done.endswith(" 0"), "the statement changed nothing"


async def event_ids(core: Core, shipment_ids: Sequence[str]) -> list[str]:
    rows = await fetch(
        core,
        "SELECT id FROM events WHERE shipment_id = ANY ($1::text[]) ORDER BY shipment_id, sequence",
        list(shipment_ids),
    )
    return [event_id for (event_id,) in rows]
