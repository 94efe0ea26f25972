"""One history of calls, made at the sandbox in memory and at the real API side by side."""

import json
import re
from datetime import datetime
from typing import Any

import httpx2
from pickupbox_sdk import PickupboxError
from pickupbox_sdk.answers import Answer, refusal_of
from pickupbox_sdk.exchange import answer_of
from pickupbox_sdk.testing import Sandbox
from starlette.types import ASGIApp

from pickupbox.usecases.clock import sweep
from tests.api.feeds import settled
from tests.sdk.asked import Request
from tests.support.databases import elapse
from tests.support.shop import Shop

PROTECTION = 1800  # far from the time that a history takes
_TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_OURS = re.compile(r"(shp|evt|box|req)_[a-z0-9]+(_[0-9a-f]+)?")


class Side:
    """One of the two, and how its answers look when ids, PINs and times are taken out."""

    def __init__(self, http: httpx2.AsyncClient, boxes: list[str]) -> None:
        self.http = http
        self.boxes = boxes
        self.shipments: list[str] = []
        self.names: dict[str, str] = {box: f"box-{number}" for number, box in enumerate(boxes)}
        self.pins: dict[str, str] = {}

    async def send(self, request: Request) -> httpx2.Response:
        headers = {"content-type": request.content_type} if request.content is not None else {}
        if request.key is not None:
            headers["authorization"] = request.key
        path = re.sub(r"\{(\w+)-(\d+)\}", self._named, request.path)
        content = request.content and re.sub(rb"\{(\w+)-(\d+)\}", lambda m: self._named_bytes(m), request.content)
        return await self.http.request(request.method, path, content=content, headers=headers)

    def _named(self, match: re.Match[str]) -> str:
        known = {"box": self.boxes, "shipment": self.shipments}[match[1]]
        return known[int(match[2])]

    def _named_bytes(self, match: re.Match[bytes]) -> bytes:
        return {b"box": self.boxes, b"shipment": self.shipments}[match[1]][int(match[2])].encode()

    def seen(self, request: Request, response: httpx2.Response) -> dict[str, Any]:
        """The answer without what differs by nature."""
        body = json.loads(response.content)
        if request.path.startswith("/events") and response.status_code == 200:
            body["items"] = len(body["items"])  # `told` compares them: between two shipments there is no order
        if response.status_code == 201 and body["id"] not in self.shipments:
            self.shipments.append(body["id"])
        headers = ("content-type", "cache-control", "idempotent-replayed", "allow", "www-authenticate", "retry-after")
        return {
            "status": response.status_code,
            "headers": {name: _header(name, response.headers.get(name)) for name in headers},
            "request_id": bool(response.headers.get("x-request-id")),
            "spans": _spans(body),
            "body": self._without_chance(body),
            "judged": _judged(request, answer_of(response)),
        }

    def _without_chance(self, node: Any) -> Any:
        match node:
            case {"loc": loc, "type": kind}:  # the words of a broken rule are each one's own
                return {"loc": loc, "type": kind, "more": sorted(node.keys() - {"msg"})}
            case dict():
                return {
                    name: self._pin(node) if name == "pickup_pin" else self._without_chance(value)
                    for name, value in node.items()
                }
            case list():
                return [self._without_chance(item) for item in node]
            case str() if _TIMES.fullmatch(node):
                return "a time"
            case str() if _OURS.fullmatch(node):
                kind = node.partition("_")[0]
                return self.names.setdefault(node, f"{kind}-{len(self.names)}") if kind != "req" else "a request"
        return node

    def _pin(self, node: dict[str, str]) -> str:
        pin, shipment_id = node["pickup_pin"], node.get("id") or node["shipment_id"]
        assert re.fullmatch("[0-9]{6}", pin)
        return "its own" if self.pins.setdefault(shipment_id, pin) == pin else "another"


def _header(name: str, value: str | None) -> Any:
    return set((value or "").split(", ")) - {"HEAD"} if name == "allow" else value


def _spans(node: Any) -> list[Any]:
    """How long a reservation, the protection and a pickup last: of times, only this can be compared."""
    if isinstance(node, list):
        return [span for item in node for span in _spans(item)]
    if not isinstance(node, dict):
        return []
    if "updated_at" not in node:
        return _spans(list(node.values()))
    at = {name: datetime.fromisoformat(value) for name, value in node.items() if value and name.endswith("_at")}
    pairs = [("loaded_at", "pickup_available_at"), ("loaded_at", "pickup_expires_at")]
    if node["status"] == "reserved":  # unchanged since it was made
        pairs.append(("updated_at", "reservation_expires_at"))
    return [at[end] - at[begin] if begin in at else None for begin, end in pairs]


def _judged(request: Request, answer: Answer) -> Any:
    """What the SDK makes of it: the type of its value, or the refusal."""
    if answer.status < 300:
        return type(request.call.read(answer)).__name__ if request.call else "success"
    error: PickupboxError = refusal_of(answer)
    return type(error).__name__


class Pair:
    """A sandbox in memory and a shop of the real API, with the same boxes."""

    def __init__(self, sandbox: Sandbox, mock: Side, shop: Shop, real: Side) -> None:
        self.sandbox, self.mock, self.shop, self.real = sandbox, mock, shop, real

    async def ask(self, request: Request) -> tuple[dict[str, Any], dict[str, Any]]:
        """What each of the two answers."""
        if request.path.startswith("/events"):
            await settled(self.shop)
        mock, real = await self.mock.send(request), await self.real.send(request)
        return self.mock.seen(request, mock), self.real.seen(request, real)

    async def let_time_pass(self, seconds: float) -> None:
        self.sandbox.let_time_pass(seconds)
        for shipment_id in self.real.shipments:
            await elapse(self.shop.core, shipment_id, seconds)
        while await sweep(self.shop.core, 1000):
            pass

    async def told(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What each told of each shipment, in the shipment's order."""
        await settled(self.shop)
        return await _told(self.mock), await _told(self.real)


async def _told(side: Side) -> dict[str, Any]:
    events: list[dict[str, Any]] = []
    more, after = True, ""
    while more:
        page = (await side.http.get(f"/events?limit=7{after}")).json()
        events += page["items"]
        more, after = page["has_more"], f"&after={events[-1]['id']}" if events else ""
    assert len({event["id"] for event in events}) == len(events)
    assert {event["data"]["shipment_id"] for event in events} == set(side.shipments)
    return {
        f"shipment-{number}": [
            (event["api_version"], event["type"], side._without_chance(event["data"]))
            for event in events
            if event["data"]["shipment_id"] == shipment_id
        ]
        for number, shipment_id in enumerate(side.shipments)
    }


async def pair(shop: Shop, app: ASGIApp) -> Pair:
    """Two boxes on each side: one of two compartments, one of one."""
    sandbox = Sandbox()
    ours = [sandbox.box.id]
    theirs = [shop.box_id]
    for name, compartments in (("Second", 2), ("First", 1)):
        ours.append(
            sandbox.add_box(
                name,
                compartments=compartments,
                location_name="Here",
                address="Test street 1",
                protection_seconds=PROTECTION,
            ).id
        )
        theirs.append(await shop.add_box(compartments, name=name, protection_seconds=PROTECTION))
    mock = httpx2.AsyncClient(transport=sandbox.transport, base_url=sandbox.base_url)
    mock.headers["authorization"] = f"Bearer {sandbox.api_key}"
    real = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test/v1")
    real.headers["authorization"] = f"Bearer {shop.api_key}"
    return Pair(sandbox, Side(mock, ours), shop, Side(real, theirs))
