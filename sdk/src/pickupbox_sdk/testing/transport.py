"""HTTP for the service in memory: a transport for the HTTP client, sync and async, that answers as the real one."""

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

import httpx2

from pickupbox_sdk.errors import (
    ApiError,
    InvalidApiKey,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    ValidationFailed,
)
from pickupbox_sdk.testing import checks
from pickupbox_sdk.testing.parcels import Parcel, box_body, shipment_body
from pickupbox_sdk.testing.service import Service, refusal

BASE_PATH = "/v1"
NO_STORE = {"cache-control": "no-store"}

Reply = tuple[int, Any, Mapping[str, str]]
Act = Callable[[httpx2.Request], Reply]


class InvalidPathError(Exception):
    """The path's id breaks the schema; its body is the framework's."""


class SandboxTransport(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """Answers every request from a service in memory, whatever its host."""

    def __init__(self, service: Service, api_key: str, after_each: Callable[[], None] = lambda: None) -> None:
        self._service = service
        self._api_key = api_key
        self._after_each = after_each
        self._lock = threading.RLock()
        self._asked = 0
        self.failures: deque[ApiError | httpx2.TransportError] = deque()
        self.lost_answers = 0

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.read()
        return self._handle(request)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        await request.aread()
        return self._handle(request)

    def _handle(self, request: httpx2.Request) -> httpx2.Response:
        with self._lock:
            self._asked += 1
            refused = bool(self.failures)
            response = self._answer(request, f"req_test_{self._asked}")
            self._after_each()
            if self.lost_answers and not refused:
                self.lost_answers -= 1
                raise httpx2.ReadError("the answer was lost, as the test wants it", request=request)
            return response

    def _answer(self, request: httpx2.Request, request_id: str) -> httpx2.Response:
        try:
            if self.failures:
                raise self.failures.popleft()
            status, body, headers = self._route(request)(request)
        except InvalidPathError as invalid:
            status, body, headers = 422, {"detail": invalid.args[0]}, {}
        except ApiError as error:
            status, (body, headers) = error.status, _envelope(error, request_id)
        content = json.dumps(body, ensure_ascii=False).encode()
        headers = {"content-type": "application/json", "x-request-id": request_id, **headers}
        return httpx2.Response(status, headers=headers, content=content, request=request)

    def _route(self, request: httpx2.Request) -> Act:
        base, _, path = request.url.path.partition(f"{BASE_PATH}/")
        if base:
            raise refusal(NotFound)
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or key.strip() != self._api_key:
            raise refusal(InvalidApiKey)
        acts = self._acts(path.split("/"))
        if not acts:
            raise refusal(NotFound)
        if request.method not in acts:
            raise refusal(MethodNotAllowed, {"allow": ", ".join(sorted(acts))})
        return acts[request.method]

    def _acts(self, parts: list[str]) -> dict[str, Act]:
        """What can be done at a path, by method."""
        service = self._service
        match parts:
            case ["boxes"]:
                return {"GET": self._list_boxes}
            case ["events"]:
                return {"GET": self._list_events}
            case ["shipments"]:
                return {"GET": self._find_shipments, "POST": self._create_shipment}
            case ["shipments", str() as id_] if id_:
                return {"GET": lambda _: _ok(service.read(_checked(id_)))}
            case ["shipments", str() as id_, "pickup-pin"] if id_:
                return {"GET": lambda _: self._pin(_checked(id_))}
            case ["shipments", str() as id_, "cancel"] if id_:
                return {"POST": lambda _: _ok(service.cancel(_checked(id_)))}
            case ["shipments", str() as id_, "retry"] if id_:
                return {"POST": lambda _: _made(*service.retry(_checked(id_)))}
            case ["sandbox", "shipments", str() as id_, "events"] if id_:
                return {"POST": lambda request: self._simulate(id_, request)}
        return {}

    def _list_boxes(self, _: httpx2.Request) -> Reply:
        boxes = sorted((cabinet.box for cabinet in self._service.cabinets.values()), key=lambda box: (box.name, box.id))
        return 200, {"items": [box_body(box) for box in boxes]}, {}

    def _create_shipment(self, request: httpx2.Request) -> Reply:
        try:
            wish = _body(request)
        except checks.NotJsonError:
            raise refusal(InvalidRequest) from None
        _refuse(checks.problems_of(wish, checks.CREATE))
        return _made(*self._service.create(wish))

    def _find_shipments(self, request: httpx2.Request) -> Reply:
        query = _query(request, checks.ORDER)
        found = self._service.find(query["external_order_id"])
        return 200, {"items": [shipment_body(parcel) for parcel in found]}, {}

    def _list_events(self, request: httpx2.Request) -> Reply:
        query = _query(request, checks.EVENTS)
        items, more = self._service.feed(query.get("after"), int(query.get("limit", 100)))
        return 200, {"items": items, "has_more": more}, {}

    def _pin(self, shipment_id: str) -> Reply:
        return 200, {"shipment_id": shipment_id, "pickup_pin": self._service.reveal_pin(shipment_id)}, NO_STORE

    def _simulate(self, shipment_id: str, request: httpx2.Request) -> Reply:
        _refuse(checks.id_problems(shipment_id))
        try:
            wanted = _body(request)
        except checks.NotJsonError:
            _refuse([{"loc": ["body"], "msg": "not JSON", "type": "json_invalid"}])
        _refuse(checks.event_problems(wanted))
        return _ok(self._service.simulate(shipment_id, wanted["event"]))


def _body(request: httpx2.Request) -> Any:
    return checks.parsed(request.content, request.headers.get("content-type", "application/json"))


def _query(request: httpx2.Request, rules: Mapping[str, checks.Rule]) -> dict[str, str]:
    pairs = parse_qsl(request.url.query.decode(), keep_blank_values=True)
    _refuse(checks.query_problems(pairs, rules))
    return dict(pairs)


def _refuse(problems: list[checks.Problem]) -> None:
    if problems:
        raise refusal(ValidationFailed, problems)


def _checked(shipment_id: str) -> str:
    if problems := checks.id_problems(shipment_id):
        raise InvalidPathError([{**problem, "input": shipment_id[:256], "ctx": {}} for problem in problems])
    return shipment_id


def _ok(parcel: Parcel) -> Reply:
    return 200, shipment_body(parcel), {}


def _made(parcel: Parcel, replayed: bool) -> Reply:  # noqa: FBT001 - as the service returns it
    headers = {**NO_STORE, "idempotent-replayed": "true"} if replayed else NO_STORE
    return 201, {**shipment_body(parcel), "pickup_pin": parcel.pin}, headers


def _envelope(error: ApiError, request_id: str) -> tuple[dict[str, Any], dict[str, str]]:
    headers: dict[str, str] = {}
    shown: dict[str, Any] = {"code": error.code, "message": error.message, "request_id": request_id}
    if isinstance(error, MethodNotAllowed) and error.details:
        headers["allow"] = error.details["allow"]
    elif error.details is not None:
        shown["details"] = error.details
    if isinstance(error, InvalidApiKey):
        headers["www-authenticate"] = "Bearer"
    if error.retry_after is not None:
        headers["retry-after"] = str(round(error.retry_after))
    return {"error": shown}, headers
