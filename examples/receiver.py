import base64
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))


def verifies(headers, body):
    event_id, sent_at = headers.get("Service-Event-Id", ""), headers.get("Service-Timestamp", "")
    signed = f"{event_id}.{sent_at}.".encode() + body
    ours = b"v1," + base64.b64encode(hmac.digest(KEY, signed, "sha256"))
    signatures = headers.get("Service-Signature", "").encode().split(b" ")
    return any(hmac.compare_digest(ours, one) for one in signatures) and abs(time.time() - int(sent_at)) <= 300


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        accepted = verifies(self.headers, body)
        if accepted:
            event = json.loads(body)
            print(f"{event['type']} {event['data']['shipment_id']}\n", end="", flush=True)
        self.send_response(200 if accepted else 400)
        self.end_headers()


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
