"""One run of Schemathesis: how data is made, which checks look at the answers, and when it ends."""

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import schemathesis
from schemathesis import AuthContext, Case
from schemathesis.engine import from_schema
from schemathesis.hooks import GLOBAL_HOOK_DISPATCHER
from schemathesis.schemas import BaseSchema

from tests.fuzz.checks import AnswerIsOurs, keep_failure
from tests.fuzz.street import FOREIGN_ORDER, Street
from tests.fuzz.tally import Tally
from tests.fuzz.words import FAULTED_WORDS, FRESH_ORDER, HELD_WORDS, OPEN_WORDS, WITH_NUL, Words

REQUEST_SECONDS = 10
FAULTS_SHOWN = 20
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "positive_data_acceptance",
    "unsupported_method",
    "allow_header_conformance",
    "missing_required_header",
    "ensure_resource_availability",
    "ignored_auth",
    AnswerIsOurs.__name__,
)


@dataclass(frozen=True, slots=True)
class Plan:
    cases: int
    seed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Pass:
    """One execution of Schemathesis's engine."""

    phase: str
    mode: str
    examples: int
    bad_keys: bool = False  # also send Authorization headers that are missing or wrong


EVERY_CORNER = Pass("coverage", "all", 1, bad_keys=True)
BAD_KEYS = Pass("fuzzing", "all", 40, bad_keys=True)
# Valid and invalid data in turn: left to choose, the engine makes few invalid paths.
ROUND = (Pass("fuzzing", "positive", 50), Pass("fuzzing", "negative", 50), Pass("stateful", "all", 100))
FEWEST_PASSES = 2 + len(ROUND)


def run(base_url: str, street: Street, plan: Plan) -> Tally:
    """Send at least the planned number of cases; fewer only if time is up or too much is wrong.

    First every corner of the schema and every kind of Authorization header; then, with good keys, round after
    round of valid requests, invalid ones, and such that follow the document's links, each with a seed of its own.
    """
    tally = Tally()
    end = time.monotonic() + plan.seconds
    passes = itertools.chain((EVERY_CORNER, BAD_KEYS), itertools.cycle(ROUND))
    keys = itertools.cycle(street.api_keys)
    with _spoken(Words(street.shipments, street.released_faults)) as words:
        while (tally.sent < plan.cases or tally.passes < FEWEST_PASSES) and _may_go_on(tally, end):
            config = _config(street, next(passes), plan.seed + tally.passes)
            schema = schemathesis.openapi.from_url(f"{base_url}/openapi.json", config=config)
            schema.hooks.register_hook_with_name(tally.note_answer, "after_call")
            schema.hooks.register_hook_with_name(words.hear, "after_call")
            schema.hooks.register_hook_with_name(keep_failure, "filter_failure")
            _authenticate(schema, keys)
            _execute(schema, tally, end)
    return tally


def _may_go_on(tally: Tally, end: float) -> bool:
    return time.monotonic() < end and len(tally.faults) < FAULTS_SHOWN


def _execute(schema: BaseSchema, tally: Tally, end: float) -> None:
    stream = from_schema(schema).execute()
    # The engine looks at this before each case, while its events come only after a whole scenario.
    stopper = threading.Timer(end - time.monotonic(), stream.stop)
    stopper.start()
    try:
        for event in stream:
            tally.note_event(event)
    finally:
        stopper.cancel()
    tally.passes += 1


@contextmanager
def _spoken(words: Words) -> Iterator[Words]:
    # Schemathesis knows this hook only for all schemas at once.
    speak = words.speak
    GLOBAL_HOOK_DISPATCHER.register_hook_with_name(speak, "before_call")
    try:
        yield words
    finally:
        GLOBAL_HOOK_DISPATCHER.unregister(speak)


def _authenticate(schema: BaseSchema, keys: Iterator[str]) -> None:
    class Bearer:
        """The shop's keys in turn, because each may reveal only so many PINs."""

        def get(self, _: Case, __: AuthContext) -> str:
            return next(keys)

        def set(self, case: Case, key: str, _: AuthContext) -> None:
            case.headers["Authorization"] = f"Bearer {key}"

    schema.auth(refresh_interval=None)(Bearer)


def _config(street: Street, one: Pass, seed: int) -> schemathesis.Config:
    settings: dict[str, Any] = {
        "seed": seed,
        "max-failures": FAULTS_SHOWN,
        "request-timeout": REQUEST_SECONDS,
        "cache": {"enabled": False},
        "output": {"sanitization": {"enabled": False}},  # a curl line without its key shows nothing
        "suppress-health-check": ["all"],
        "generation": {
            "mode": one.mode,
            "max-examples": one.examples,
            "database": "none",
            "no-shrink": True,
            "with-security-parameters": one.bad_keys,
        },
        "phases": {"enabled": False, one.phase: {"enabled": True}},
        # New shipments are what all the other operations live on.
        "operations": [
            {"include-operation-id": "createShipment", "generation": {"max-examples": one.examples * 2}},
            {"include-operation-id": "cancelShipment", "generation": {"max-examples": (one.examples + 1) // 2}},
            {
                "include-operation-id": "retryShipment",
                "parameters": {"path.shipment_id": {"dictionary": "faulted", "probability": 0.6}},
            },
        ],
        # Real things appear often, so that requests get past the first lookup.
        "dictionaries": {
            "boxes": {"values": [*street.boxes, street.foreign_box, WITH_NUL]},
            "faulted": {"values": [*FAULTED_WORDS * 5, *HELD_WORDS, *OPEN_WORDS, street.foreign_shipment]},
            "events": {"values": [*street.events, street.foreign_event]},
            "known_orders": {"values": [*street.orders, FOREIGN_ORDER]},
            "orders": {"values": [*[FRESH_ORDER] * 9, WITH_NUL]},
            "shipments": {"values": [*OPEN_WORDS, *HELD_WORDS, *street.shipments, street.foreign_shipment]},
        },
        "parameters": {
            "body.box_id": {"dictionary": "boxes", "probability": 0.8},
            "body.external_order_id": {"dictionary": "orders", "probability": 0.6},
            "path.shipment_id": {"dictionary": "shipments", "probability": 0.7},
            "query.after": {"dictionary": "events", "probability": 0.7},
            "query.external_order_id": {"dictionary": "known_orders", "probability": 0.5},
        },
        "checks": {
            "enabled": False,
            **{name: {"enabled": True} for name in CHECKS},
            # Invalid data is refused as such, before anything is looked up.
            "negative_data_rejection": {"enabled": True, "expected-statuses": [400, 401, 422, 429]},
            AnswerIsOurs.__name__: {
                "enabled": True,
                "secrets": list(street.secrets),
                "foreign": [street.foreign_box, street.foreign_shipment, street.foreign_event],
            },
        },
    }
    return schemathesis.Config.from_dict(settings)
