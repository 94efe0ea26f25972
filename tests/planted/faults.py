"""The list: what is broken where, and which tests must notice."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    file: str  # below src/pickupbox
    old: str
    new: str
    caught_by: str  # what pytest is given


DOMAIN, MODEL, API, DATABASE = "tests/domain", "tests/model", "tests/api", "tests/database"

FAULTS = (
    Fault(
        "a wrong row: cancelling an empty reservation holds the compartment",
        "domain/lifecycle.py",
        "(Stage.RESERVED, Trigger.CANCEL): _to(Stage.CANCELLED, Event.CANCELLED, Event.DOOR_AVAILABLE)",
        "(Stage.RESERVED, Trigger.CANCEL): _CANCEL_HELD",
        MODEL,
    ),
    Fault(
        "a wrong row: an expired parcel's compartment is released with the parcel in it",
        "domain/lifecycle.py",
        "(Stage.READY, Trigger.EXPIRE): _EXPIRE_HELD",
        "(Stage.READY, Trigger.EXPIRE): _to(Stage.EXPIRED, Event.EXPIRED, Event.DOOR_AVAILABLE)",
        MODEL,
    ),
    Fault(
        "a wrong row: cancelling behind an open door releases",
        "domain/lifecycle.py",
        "(Stage.LOADING, Trigger.CANCEL): _CANCEL_HELD",
        "(Stage.LOADING, Trigger.CANCEL): _to(Stage.CANCELLED, Event.CANCELLED, Event.DOOR_AVAILABLE)",
        MODEL,
    ),
    Fault(
        "a missing row: a faulted door cannot be reported while the loader corrects",
        "domain/lifecycle.py",
        "    (Stage.CORRECTING, Trigger.FAULT): _FAULT_HELD,\n",
        "",
        MODEL,
    ),
    Fault(
        "a dropped event: an early pickup does not say loaded first",
        "domain/lifecycle.py",
        "_EARLY_PICKUP = _to(Stage.COOLING, _EARLY_LOADED, Event.PICKED_UP)",
        "_EARLY_PICKUP = _to(Stage.COOLING, Event.PICKED_UP)",
        MODEL,
    ),
    Fault(
        "a dropped event: removal does not say door_available",
        "domain/lifecycle.py",
        "return _to(released, Emission(Event.REMOVED, held), Event.DOOR_AVAILABLE)",
        "return _to(released, Emission(Event.REMOVED, held))",
        MODEL,
    ),
    Fault(
        "a dropped event: only the first event of a step is written",
        "database/shipments.py",
        "JOIN saved s ON s.n = e.n",
        "JOIN saved s ON s.n = e.n AND e.place = 1",
        MODEL,
    ),
    Fault(
        "a wrong face: pickup is enabled during protection",
        "domain/lifecycle.py",
        "Stage.PROTECTED: Face(Status.LOADED, CompartmentState.OCCUPIED),",
        "Stage.PROTECTED: Face(Status.LOADED, CompartmentState.OCCUPIED, pickup_enabled=True),",
        MODEL,
    ),
    Fault(
        "a wrong snapshot: every event of a step shows where the step ends",
        "database/shipments.py",
        "[FACES[emission.stage].compartment_state for _, _, _, emission in told]",
        "[shipments[n - 1].compartment_state for n, _, _, _ in told]",
        MODEL,
    ),
    Fault(
        "a missing lock: two acts on one shipment at once",
        "database/shipments.py",
        "WHERE s.tenant_id = $1 AND s.id = $2 FOR NO KEY UPDATE OF s",
        "WHERE s.tenant_id = $1 AND s.id = $2",
        "tests/races/test_conflicting_acts.py",
    ),
    Fault(
        "a missing lock: two workers sweep the same deadline",
        "database/shipments.py",
        "\n        FOR NO KEY UPDATE OF s SKIP LOCKED",
        "",
        "tests/worker",
    ),
    Fault(
        "a missing tenant filter: anyone reads any shipment",
        "database/shipments.py",
        "JOIN shipments s ON s.tenant_id = w.tenant_id AND s.id = w.id",
        "JOIN shipments s ON s.id = w.id",
        MODEL,
    ),
    Fault(
        "a missing tenant filter: anyone cancels any shipment",
        "database/shipments.py",
        "WHERE s.tenant_id = $1 AND s.id = $2 FOR NO KEY UPDATE OF s",
        "WHERE $1::text IS NOT NULL AND s.id = $2 FOR NO KEY UPDATE OF s",
        MODEL,
    ),
    Fault(
        "a missing tenant filter: a foreign order of the same name is replayed",
        "database/shipments.py",
        "WHERE s.tenant_id = $1 AND s.external_order_id = $2",
        "WHERE $1::text IS NOT NULL AND s.external_order_id = $2",
        API,
    ),
    Fault(
        "a missing tenant filter: boxes of all tenants are listed",
        "database/boxes.py",
        "FROM boxes WHERE tenant_id = $1 AND active ORDER BY",
        "FROM boxes WHERE $1::text IS NOT NULL AND active ORDER BY",
        API,
    ),
    Fault(
        "a leak: a released compartment is never free again",
        "database/shipments.py",
        "WHERE s.released_at IS NOT NULL\n",
        "WHERE false AND s.released_at IS NOT NULL\n",
        MODEL,
    ),
    Fault(
        "a compartment that is taken is not marked",
        "database/reservations.py",
        "UPDATE compartments c SET shipment_id = s.id FROM made s\n        WHERE",
        "UPDATE compartments c SET shipment_id = s.id FROM made s\n        WHERE false AND",
        MODEL,
    ),
    Fault(
        "a missing constraint: one PIN for two live shipments of a box",
        "database/migrations/versions/0001_heart.py",
        "CREATE UNIQUE INDEX shipments_live_pin",
        "CREATE INDEX shipments_live_pin",
        DATABASE,
    ),
    Fault(
        "answers of a batch go to the wrong callers",
        "database/reservations.py",
        "return [made.get(a.shipment_id) for a in asked]",
        "return [*made.values(), *[None] * (len(asked) - len(made))]",
        "tests/database/test_reservations.py",
    ),
    Fault(
        "an order is replayed in another box",
        "usecases/reserve.py",
        "if first.box_id != wish.box_id:",
        "if first.tenant_id != caller.tenant:",
        MODEL,
    ),
    Fault(
        "a retry before the compartment is released",
        "usecases/retry.py",
        "if not is_released(original.stage):",
        "if original.stage is None:",
        MODEL,
    ),
    Fault(
        "a retry has the same attempt number",
        "usecases/retry.py",
        "attempt_number=original.attempt_number + 1",
        "attempt_number=original.attempt_number",
        MODEL,
    ),
    Fault(
        "cancelling twice is refused",
        "usecases/cancel.py",
        "if locked.shipment.status is Status.CANCELLED:",
        "if locked.shipment.tenant_id != tenant:",
        MODEL,
    ),
    Fault(
        "a PIN is told after the shipment is finished",
        "domain/pins.py",
        "return FACES[stage].status in (Status.RESERVED, Status.LOADED)",
        "return FACES[stage].status in Status",
        MODEL,
    ),
    Fault(
        "a replayed PIN leaves no audit entry",
        "usecases/reserve.py",
        "    await note_reveal(core, caller, first.id)\n",
        "",
        API,
    ),
    Fault(
        "a simulated pickup cools down by the clock",
        "domain/deadlines.py",
        "return None if simulated else shipment.updated_at",
        "return shipment.updated_at",
        MODEL,
    ),
    Fault(
        "time runs backwards after a wait for a lock",
        "domain/advance.py",
        "now = max(now, shipment.updated_at)",
        "now = max(now, now)",
        DOMAIN,
    ),
    Fault(
        "a revoked key still opens",
        "database/tenants.py",
        "JOIN tenants t ON t.id = k.tenant_id\n        WHERE k.revoked_at IS NULL",
        "JOIN tenants t ON t.id = k.tenant_id",
        API,
    ),
    Fault(
        "production simulates events",
        "api/app.py",
        'if environment == "sandbox":',
        "if environment:",
        API,
    ),
    Fault(
        "the rate limit never says no",
        "api/entrance.py",
        "if not visit.verdict.allowed:",
        "if visit.verdict is None:",
        API,
    ),
)
