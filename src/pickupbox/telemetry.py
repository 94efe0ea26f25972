"""Structured logs and metrics: one line per request or act, every number with a name."""

import logging
import sys
from datetime import UTC, datetime
from typing import Any

import orjson
import structlog
from prometheus_client import Counter, Gauge, Histogram

REQUESTS = Histogram(
    "pickupbox_request_seconds",
    "Time from request to answer",
    ["operation", "status"],
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
)
REFUSALS = Counter("pickupbox_refusals_total", "Refused requests by error code", ["code"])
STEPS = Counter("pickupbox_steps_total", "Lifecycle steps by trigger", ["trigger"])
RESERVATIONS = Counter("pickupbox_reservations_total", "Reservations made, replayed or tried again", ["outcome"])
BATCH = Histogram(
    "pickupbox_batch_questions",
    "Questions that went to PostgreSQL together",
    ["statement"],
    buckets=(1, 2, 4, 8, 16, 32, 64, 100),
)
DEADLINE_LAG = Histogram(
    "pickupbox_deadline_lag_seconds",
    "How late a deadline was acted on",
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300),
)
LOOP_RUNS = Counter("pickupbox_loop_runs_total", "Runs of a worker loop", ["loop", "result"])
LOOP_LAST = Gauge(
    "pickupbox_loop_last_success_timestamp_seconds",
    "When a worker loop last succeeded",
    ["loop"],
    multiprocess_mode="max",
)
PINS = Counter("pickupbox_pins_total", "PINs typed at boxes by verdict", ["verdict"])
HAPPENINGS = Counter("pickupbox_happenings_total", "Reports of boxes that were taken", ["happening"])
DEVICE_MESSAGES = Counter("pickupbox_device_messages_total", "Messages from boxes by kind", ["kind"])
DEVICE_MESSAGES_DROPPED = Counter(
    "pickupbox_device_messages_dropped_total", "Messages of boxes that said more than may wait, by kind", ["kind"]
)
DEVICES = Gauge(
    "pickupbox_devices", "Devices that are not revoked, as last heard", ["presence"], multiprocess_mode="mostrecent"
)
SET_ASIDE = Counter("pickupbox_messages_set_aside_total", "Messages from boxes that could not be taken")
SEALED = Counter("pickupbox_audit_sealed_total", "Audit entries sealed into the chain")
ERASED = Counter("pickupbox_names_erased_total", "Customer names erased after their retention")
ATTEMPTS = Counter("pickupbox_webhook_attempts_total", "Attempts to deliver an event by outcome", ["outcome"])
DELIVERY_LAG = Histogram(
    "pickupbox_webhook_lag_seconds",
    "From an event's commit to its acceptance, when the first attempt was accepted",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60),
)
CLAIM_SECONDS = Histogram(
    "pickupbox_webhook_claim_seconds",
    "Time to find and claim due webhook work",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 1),
)
IN_FLIGHT = Gauge("pickupbox_webhook_in_flight", "Webhook exchanges under way", multiprocess_mode="livesum")
DISABLED = Counter("pickupbox_webhook_endpoints_disabled_total", "Endpoints that the service disabled", ["cause"])
WATCHERS = Gauge(
    "pickupbox_admin_watchers", "Pages of the administration that are open and live", multiprocess_mode="livesum"
)
SIGN_INS = Counter("pickupbox_sign_ins_total", "Attempts of people to sign in by outcome", ["outcome"])
MAILS = Counter("pickupbox_mails_total", "Mail by what became of it", ["outcome"])
LOG_DROPPED = Counter("pickupbox_request_log_dropped_total", "Requests that the log of requests lost", ["cause"])
LIMITER_AWAY = Counter("pickupbox_rate_limiter_away_total", "Requests let through while the rate limiter was away")


log: Any = structlog.get_logger()


def _line(logger: object, level: str, event: structlog.typing.EventDict) -> bytes:
    """One log line. One processor instead of a chain: every request writes a line."""
    event["level"] = level
    event["at"] = datetime.now(UTC).isoformat()[:-6] + "Z"
    if event.get("exc_info"):
        event = structlog.processors.format_exc_info(logger, level, event)
    return orjson.dumps(event, default=str)


def start_logs(level: str) -> None:
    """Log lines are JSON on standard error, so that standard output stays for what a command says."""
    structlog.configure(
        processors=[_line],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.BytesLoggerFactory(file=sys.stderr.buffer),
        cache_logger_on_first_use=True,
    )
