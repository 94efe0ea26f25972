"""Events: what the shop is told, as it stood in the step's commit, and to which endpoints."""

# PublicWebhookData, built where all of its values are at hand. `s` is the shipment after the step, `b` its
# box, `e` the event's own status and compartment state.
DATA = """json_build_object(
    'shipment_id', s.id, 'external_order_id', s.external_order_id, 'attempt_number', s.attempt_number,
    'retry_of_shipment_id', s.retry_of_shipment_id, 'box_id', s.box_id, 'box_name', b.name,
    'compartment_code', s.compartment_code, 'status', e.status, 'compartment_state', e.compartment_state,
    'pickup_available_at', to_char(s.pickup_available_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'pickup_expires_at', to_char(s.pickup_expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))"""

# The endpoints that subscribe to event `e` of shipment `s`; null if none does.
SUBSCRIBED = """(
    SELECT array_agg(w.id ORDER BY w.id) FROM webhook_endpoints w
    WHERE w.tenant_id = s.tenant_id AND w.removed_at IS NULL AND w.enabled
      AND (w.event_types IS NULL OR e.type = ANY (w.event_types)))"""
