"""An API that costs as little as it can: each path has its answer, which goes out as soon as the request is in.

`python -m bench.instant PORT`
"""

import asyncio
import json
import sys

import httpx2
import uvloop
from pickupbox_sdk.testing import Sandbox

EVENTS = 100


def answers() -> dict[bytes, bytes]:
    """By the beginning of the request line; bodies as the sandbox in memory writes them."""
    sandbox = Sandbox()
    box = sandbox.add_box("Large box", compartments=EVENTS).id
    with sandbox.client() as shop:
        made = [shop.create_shipment(box, f"order-{number}").id for number in range(EVENTS)]
    http = httpx2.Client(transport=sandbox.transport, base_url=sandbox.base_url)
    http.headers["Authorization"] = f"Bearer {sandbox.api_key}"
    bodies = {
        b"GET /v1/boxes": (200, http.get("/boxes").content),
        b"GET /v1/shipments/": (200, http.get(f"/shipments/{made[0]}").content),
        b"GET /v1/events": (200, http.get(f"/events?limit={EVENTS}").content),
        b"POST /v1/shipments": (
            201,
            http.post("/shipments", json={"box_id": box, "external_order_id": "order-0"}).content,
        ),
    }
    return {line: _response(status, body) for line, (status, body) in bodies.items()}


def _response(status: int, body: bytes) -> bytes:
    compact = json.dumps(json.loads(body), separators=(",", ":")).encode()
    head = (
        f"HTTP/1.1 {status} OK\r\nContent-Type: application/json\r\nX-Request-Id: req_0123456789abcdef01234567\r\n"
        f'RateLimit-Policy: "key";q=100;w=2\r\nRateLimit: "key";r=99;t=0\r\nContent-Length: {len(compact)}\r\n\r\n'
    )
    return head.encode() + compact


class Api(asyncio.Protocol):
    answers: dict[bytes, bytes]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end or (head.startswith(b"POST") and not body):
            return
        self._received = b""
        answer = next(answer for line, answer in self.answers.items() if head.startswith(line))
        self._transport.write(answer)  # type: ignore[attr-defined]


async def serve(port: int) -> None:
    Api.answers = answers()
    server = await asyncio.get_running_loop().create_server(Api, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
