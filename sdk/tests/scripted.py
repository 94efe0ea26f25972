"""A real server on loopback that answers as a test scripts it."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SHIPMENT = {
    "id": "shp_1",
    "external_order_id": "order-1",
    "attempt_number": 1,
    "retry_of_shipment_id": None,
    "box_id": "box_1",
    "compartment_code": "A1",
    "customer_name": None,
    "status": "reserved",
    "compartment_state": "reserved",
    "pickup_enabled": False,
    "reservation_expires_at": "2026-11-15T09:00:00.000001Z",
    "loaded_at": None,
    "pickup_available_at": None,
    "pickup_expires_at": None,
    "picked_up_at": None,
    "updated_at": "2026-11-14T09:00:00.000001Z",
}
CREATED = {**SHIPMENT, "pickup_pin": "135790"}


@dataclass
class Reply:
    """What to answer; with `drop` the connection is closed without a word."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Script:
    """Answers in order; the last one again and again."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.asked: list[Asked] = []
        self.base_url = ""

    def next(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def refusal(code: str, status: int, details: Any = None, **headers: str) -> Reply:
    error = {"code": code, "message": "No.", "request_id": "req_1", "details": details}
    return Reply(status, {"error": error}, {name.replace("_", "-"): value for name, value in headers.items()})


@contextmanager
def serving() -> Iterator[Script]:
    script = Script()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            script.asked.append(Asked(self.command, self.path, headers, self.rfile.read(length)))
            reply = script.next()
            if reply.drop:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _answer  # noqa: N815 - the names that the server calls

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        script.base_url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield script
        server.shutdown()
        thread.join(5)
