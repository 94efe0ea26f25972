"""What the contract leaves open, as it was decided: a ROW is a row of the design's table, PROSE a part of one."""

from tests.conformance.kinds import PROSE, ROW, Rule

DECISIONS: dict[str, list[Rule]] = {
    "Open points, decided": [
        Rule("OPEN-1", ROW, "Identifiers: opaque, prefixed, unguessable, in order of time"),
        Rule(
            "OPEN-2", ROW, "Box defaults: 1440 and 2880 min, 120, 300 and 180 s; a sandbox protects and cools down 5 s"
        ),
        Rule("OPEN-3", ROW, "Repeated create: 201, the shipment as it is now, its PIN, `Idempotent-Replayed: true`"),
        Rule("OPEN-3a", PROSE, "Repeated create is audited like a PIN reveal"),
        Rule("OPEN-3b", PROSE, "Other TTL or name: still the original"),
        Rule("OPEN-4", ROW, "Same order, other box: 409 `external_order_conflict` with `details.existing_shipment_id`"),
        Rule("OPEN-5", ROW, "No free compartment: 409 `no_compartment_available`"),
        Rule("OPEN-6", ROW, "Unknown, inactive or foreign box: 404 `box_not_found`"),
        Rule("OPEN-6a", PROSE, "Unknown or foreign shipment: 404 `shipment_not_found`; foreign is never 403"),
        Rule("OPEN-7", ROW, "Cancel of picked_up, expired, fault: 409 `shipment_not_cancellable`"),
        Rule("OPEN-8", ROW, "Retry not allowed: 409 `shipment_not_faulted` or `compartment_not_released`"),
        Rule(
            "OPEN-9",
            ROW,
            "Retry: the same box and TTLs; none free or box closed: 409; attempt 2 is retried by its own id",
        ),
        Rule("OPEN-10", ROW, "PIN read: 409 `pin_not_available` unless reserved or loaded; `Cache-Control: no-store`"),
        Rule("OPEN-11", ROW, "400 `invalid_request`: the body is not JSON"),
        Rule("OPEN-11a", PROSE, "422 `validation_failed`: `details` is a list of `{loc, msg, type}`"),
        Rule("OPEN-11b", PROSE, "422 of a path: an id over 64 characters or with a control character"),
        Rule("OPEN-11c", PROSE, "A body over 64 KiB or of another content type is 400; U+0000 in a text is 422"),
        Rule("OPEN-11d", PROSE, "Sandbox event: whatever is wrong with the request is 422 with the envelope"),
        Rule("OPEN-12", ROW, "401, 404, 405, 429, 500 and 503 always have the envelope"),
        Rule("OPEN-12a", PROSE, "`invalid_api_key`: 401 before anything else is looked at"),
        Rule("OPEN-12b", PROSE, "`not_found`: unknown path"),
        Rule("OPEN-12c", PROSE, "`method_not_allowed`: 405 with Allow"),
        Rule("OPEN-12d", PROSE, "`rate_limited`: 429 with Retry-After"),
        Rule("OPEN-12e", PROSE, "`internal_error`: 500, leaks nothing"),
        Rule("OPEN-12f", PROSE, "`temporarily_unavailable`: 503 with Retry-After while the database is away"),
        Rule(
            "OPEN-13",
            ROW,
            "`X-Request-Id` on every response, equal to `error.request_id`; a sane one of the caller is taken over",
        ),
        Rule("OPEN-14", ROW, "Rate: 50/s per key, burst 100, settable per tenant"),
        Rule("OPEN-14a", PROSE, "PIN reveal: 60 per hour per key"),
        Rule("OPEN-14b", PROSE, "`RateLimit`, `RateLimit-Policy` and `Retry-After` headers"),
        Rule("OPEN-15", ROW, "Sandbox `removed`: both events at once; the answer shows available"),
        Rule(
            "OPEN-16",
            ROW,
            "A simulated pickup cools down until `door_available` is simulated; protection and TTLs run by the clock",
        ),
        Rule("OPEN-17", ROW, "Sandbox `picked_up` during protection: `loaded` is told just before"),
        Rule("OPEN-18", ROW, "Cancel, expiry or fault during protection: the pending `loaded` is never told"),
        Rule(
            "OPEN-19",
            ROW,
            "Emission in the transition's own commit; reserved also on retry; the end before door_available",
        ),
        Rule("OPEN-20", ROW, "PostgreSQL's clock decides, within one second"),
        Rule("OPEN-21", ROW, "Fault in production: a door left open past its limit"),
        Rule(
            "OPEN-21a",
            PROSE,
            "Fault in production: lock did not open, door opened that nobody commanded, an operator's word",
        ),
        Rule("OPEN-22", ROW, "API keys: `pbx_live_` or `pbx_test_`, cell, 32 bytes, checksum; only an HMAC is stored"),
        Rule("OPEN-22a", PROSE, "Two keys live at a time per rotation; revocation works within 5 s"),
        Rule(
            "OPEN-23", ROW, "Audit entry: id, tenant, actor, action, object, request id, address, time; never the PIN"
        ),
        Rule("OPEN-23a", PROSE, "Audit is append-only and hash-chained"),
        Rule("OPEN-24", ROW, "The name is erased 30 days after release; the PIN stays, sealed"),
        Rule("OPEN-25", PROSE, "Behind an open door nobody knows what lies: cancel and expiry await removal"),
        Rule(
            "OPEN-26",
            PROSE,
            "The OpenAPI document and its page need no key; health and metrics stand outside the base address",
        ),
    ],
}
