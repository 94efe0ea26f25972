"""The invariants as queries on a live database. Each finds breaches; finding none is the good answer."""

from dataclasses import dataclass

from pickupbox.database.connection import Connection

BREACHES_SHOWN = 20

# Every query yields one line of text per breach. {mine} is the condition on the shipment's tenant.
BREACHES: dict[int, str] = {
    1: """
        SELECT 'compartment ' || box_id || '/' || compartment_code || ' has ' || count(*) || ' live shipments'
        FROM shipments s WHERE released_at IS NULL AND {mine}
        GROUP BY box_id, compartment_code HAVING count(*) > 1
        UNION ALL
        SELECT 'live shipment ' || s.id || ' does not hold its compartment' FROM shipments s
        JOIN compartments c ON c.tenant_id = s.tenant_id AND c.box_id = s.box_id AND c.code = s.compartment_code
        WHERE s.released_at IS NULL AND c.shipment_id IS DISTINCT FROM s.id AND {mine}
        UNION ALL
        SELECT 'compartment ' || s.box_id || '/' || s.code || ' is held by a shipment that does not live'
        FROM compartments s WHERE s.shipment_id IS NOT NULL AND {mine} AND NOT EXISTS (
            SELECT FROM shipments l WHERE l.tenant_id = s.tenant_id AND l.id = s.shipment_id AND l.released_at IS NULL
        )""",
    2: """
        SELECT 'box ' || box_id || ' has ' || count(*) || ' live shipments with one PIN' FROM shipments s
        WHERE released_at IS NULL AND {mine} GROUP BY box_id, pin_lookup HAVING count(*) > 1""",
    3: """
        SELECT 'shipment ' || id || ' was released by ' || trail[cardinality(trail)] FROM shipments s
        WHERE released_at IS NOT NULL AND {mine} AND NOT (
            trail[cardinality(trail)] = 'remove'
            OR trail[cardinality(trail)] = 'release' AND trail[cardinality(trail) - 1] IN ('pick_up', 'door_closed')
            OR cardinality(trail) = 2 AND trail[2] IN ('cancel', 'expire')
        )""",
    # Attempts are kept for 30 days: so far back it can be told.
    7: """
        SELECT 'event ' || s.id || ' is neither delivered to ' || w.id || ', nor waiting, nor given up'
        FROM events s CROSS JOIN LATERAL unnest(s.endpoints) AS w (id)
        JOIN webhook_endpoints e ON e.id = w.id AND e.removed_at IS NULL
        WHERE s.occurred_at > now() - interval '29 days' AND {mine} AND NOT EXISTS (
            SELECT FROM webhook_lanes l WHERE l.shipment_id = s.shipment_id AND l.endpoint_id = w.id
              AND s.sequence = ANY (l.waiting)
        ) AND NOT EXISTS (
            SELECT FROM webhook_attempts a WHERE a.shipment_id = s.shipment_id AND a.endpoint_id = w.id
              AND a.sequence = s.sequence AND a.outcome IN ('accepted', 'given_up')
        )
        UNION ALL
        SELECT 'the lane of ' || s.shipment_id || ' to ' || s.endpoint_id || ' waits for what is not there'
        FROM webhook_lanes s CROSS JOIN LATERAL unnest(s.waiting) AS w (sequence)
        WHERE {mine} AND NOT EXISTS (
            SELECT FROM events e WHERE e.shipment_created_at = s.shipment_created_at AND e.tenant_id = s.tenant_id
              AND e.shipment_id = s.shipment_id AND e.sequence = w.sequence
        )
        UNION ALL
        SELECT 'the lane of ' || s.shipment_id || ' to ' || s.endpoint_id || ' is out of order' FROM webhook_lanes s
        WHERE {mine} AND s.waiting <> ARRAY (SELECT DISTINCT w FROM unnest(s.waiting) AS w ORDER BY w)
        UNION ALL
        SELECT 'the lane of ' || s.shipment_id || ' leads to no endpoint of its tenant' FROM webhook_lanes s
        WHERE {mine} AND NOT EXISTS (
            SELECT FROM webhook_endpoints e WHERE e.tenant_id = s.tenant_id AND e.id = s.endpoint_id
        )""",
    9: """
        SELECT 'loaded of ' || s.id || ' was told before protection ended' FROM shipments s
        JOIN events e ON e.shipment_created_at = s.created_at AND e.tenant_id = s.tenant_id AND e.shipment_id = s.id
        WHERE e.type = 'loaded' AND e.occurred_at < s.pickup_available_at AND {mine} AND NOT EXISTS (
            SELECT FROM events p WHERE p.shipment_created_at = e.shipment_created_at AND p.tenant_id = e.tenant_id
              AND p.shipment_id = e.shipment_id AND p.type = 'picked_up' AND p.step = e.step
              AND p.sequence = e.sequence + 1
        )""",
    10: """
        SELECT 'attempt ' || s.attempt_number || ' of order ' || s.external_order_id || ' follows no released fault'
        FROM shipments s
        LEFT JOIN shipments o ON o.tenant_id = s.tenant_id AND o.id = s.retry_of_shipment_id
        WHERE s.attempt_number > 1 AND {mine} AND (
            o.id IS NULL OR o.external_order_id <> s.external_order_id OR o.attempt_number <> s.attempt_number - 1
            OR o.box_id <> s.box_id OR o.stage <> 'fault' OR o.released_at > s.created_at
        )
        UNION ALL
        SELECT 'order ' || external_order_id || ' has attempts that are not a line' FROM shipments s
        WHERE {mine} GROUP BY tenant_id, external_order_id HAVING max(attempt_number) <> count(*)""",
    11: """
        SELECT 'timestamps of ' || id || ' run backwards' FROM shipments s
        WHERE {mine} AND NOT (
            created_at <= coalesce(loaded_at, created_at)
            AND coalesce(loaded_at, created_at) <= coalesce(picked_up_at, updated_at)
            AND coalesce(picked_up_at, created_at) <= coalesce(released_at, updated_at)
            AND coalesce(released_at, created_at) <= updated_at
            AND coalesce(pickup_available_at >= loaded_at, true)
            AND coalesce(pickup_expires_at = loaded_at + make_interval(mins => pickup_ttl_minutes), true)
            AND reservation_expires_at = created_at + make_interval(mins => reservation_ttl_minutes)
        )
        UNION ALL
        SELECT 'events of ' || s.shipment_id || ' run backwards' FROM events s
        JOIN events e ON e.shipment_created_at = s.shipment_created_at AND e.tenant_id = s.tenant_id
            AND e.shipment_id = s.shipment_id AND e.sequence = s.sequence + 1
        WHERE e.occurred_at < s.occurred_at AND {mine}""",
    12: """
        SELECT 'event ' || e.id || ' does not show its own shipment' FROM shipments s
        JOIN events e ON e.shipment_created_at = s.created_at AND e.tenant_id = s.tenant_id AND e.shipment_id = s.id
        WHERE {mine} AND (e.data ->> 'shipment_id', e.data ->> 'external_order_id', e.data ->> 'attempt_number',
                          e.data ->> 'box_id', e.data ->> 'compartment_code', e.data ->> 'retry_of_shipment_id')
            IS DISTINCT FROM (s.id, s.external_order_id, s.attempt_number::text, s.box_id, s.compartment_code,
                              s.retry_of_shipment_id)
        UNION ALL
        SELECT 'event ' || s.id || ' belongs to no shipment' FROM events s
        WHERE {mine} AND NOT EXISTS (SELECT FROM shipments o WHERE o.tenant_id = s.tenant_id AND o.id = s.shipment_id
            AND o.created_at = s.shipment_created_at)""",
}


def _mine(tenant: str | None) -> str:
    return "true" if tenant is None else "s.tenant_id = $1"


async def hold_one_snapshot(connection: Connection) -> None:
    """One snapshot for all questions: work that goes on beside us must not look like a breach."""
    await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
    await connection.execute("SET LOCAL statement_timeout = 0")
    # These questions are about whole tables.
    await connection.execute("SET LOCAL enable_hashjoin = on")
    await connection.execute("SET LOCAL enable_mergejoin = on")


async def breaches(connection: Connection, tenant: str | None) -> dict[int, list[str]]:
    """The breaches that SQL alone can find, by the invariant's number; at most some of each."""
    union = " UNION ALL ".join(
        f"(SELECT {number}, breach FROM ({query.format(mine=_mine(tenant))}) AS q (breach) LIMIT {BREACHES_SHOWN})"
        for number, query in BREACHES.items()
    )
    rows = await connection.fetch(union, *([] if tenant is None else [tenant]), timeout=3600)
    found: dict[int, list[str]] = {number: [] for number in BREACHES}
    for number, breach in (row.values() for row in rows):
        found[number].append(breach)
    return found


@dataclass(frozen=True, slots=True)
class History:
    """How some shipments got where they are: alike in all of this, `example` being one of them."""

    example: str
    stage: str
    trail: list[str]
    event_count: int
    events: list[tuple[int, int, str, str, str]]  # sequence, step, type, status, compartment state


async def histories(connection: Connection, tenant: str | None) -> list[History]:
    """Every different history, once: there are few of them, however many shipments."""
    rows = await connection.fetch(
        f"""
        SELECT min(id) AS example, stage, trail, event_count, told FROM (
            SELECT s.id, s.stage, s.trail, s.event_count, ARRAY (
                SELECT concat_ws(' ', e.sequence, e.step, e.type, coalesce(e.data ->> 'status', '-'),
                                 coalesce(e.data ->> 'compartment_state', '-'))
                FROM events e WHERE e.shipment_created_at = s.created_at AND e.tenant_id = s.tenant_id
                  AND e.shipment_id = s.id ORDER BY e.sequence
            ) AS told
            FROM shipments s WHERE {_mine(tenant)}
        ) h GROUP BY stage, trail, event_count, told
        """,
        *([] if tenant is None else [tenant]),
        timeout=3600,
    )
    return [
        History(row["example"], row["stage"], row["trail"], row["event_count"], [_event(text) for text in row["told"]])
        for row in rows
    ]


def _event(text: str) -> tuple[int, int, str, str, str]:
    sequence, step, kind, status, compartment_state = text.split(" ")
    return int(sequence), int(step), kind, status, compartment_state
