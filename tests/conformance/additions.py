"""What is served beyond the contract: its rules stand apart from those of the contract."""

from tests.conformance.kinds import PROSE, Rule

ADDITIONS: dict[str, list[Rule]] = {
    "Additions to the interface": [
        Rule(
            "ADDITION-1", PROSE, "Additions are marked in the OpenAPI document and on its page; nothing else is added"
        ),
        Rule("ADDITION-2", PROSE, "Additions need a key, are limited, logged and counted like every operation"),
    ],
    "Additions to the interface / GET /events": [
        Rule("FEED-1", PROSE, "200: `items`, each as its webhook tells it, and `has_more`"),
        Rule("FEED-2", PROSE, "`after`: the id of the last event that was handled; the oldest comes first without it"),
        Rule("FEED-3", PROSE, "`limit`: 1 to 1000, 100 if omitted"),
        Rule("FEED-4", PROSE, "Only the tenant's own events"),
        Rule("FEED-5", PROSE, "In order per shipment, each once, and nothing ever appears before what was read"),
        Rule("FEED-6", PROSE, "An event that the tenant does not have: 404 `event_not_found`"),
        Rule("FEED-7", PROSE, "A bad, unknown or repeated parameter: 422 `validation_failed` with its place"),
        Rule(
            "FEED-8",
            PROSE,
            "One statement that reads by indexes from the place on, sorts nothing, and takes one round trip",
        ),
    ],
    "Additions to the interface / GET /shipments": [
        Rule("ORDER-1", PROSE, "200: `items`, all attempts of `external_order_id` by attempt_number, never a PIN"),
        Rule("ORDER-2", PROSE, "An order that is not known, or another tenant's: no items"),
        Rule("ORDER-3", PROSE, "A missing, empty, too long, unknown or repeated parameter: 422 `validation_failed`"),
        Rule("ORDER-4", PROSE, "Beside POST on the same path: both work, and 405 names both"),
    ],
    "Additions to the interface / Removal": [
        Rule(
            "REMOVAL-1",
            PROSE,
            "Only what awaits removal: `not_awaiting_removal`; a box without a device: `box_not_connected`",
        ),
        Rule(
            "REMOVAL-2",
            PROSE,
            "Confirmed only after closed, open, closed since the command: `removal_cycle_missing`",
        ),
        Rule(
            "REMOVAL-3",
            PROSE,
            "Emergency release by two different people with a reason: `second_person_needed`; each types the code that "
            "stands on the door: `door_code_wrong`",
        ),
    ],
    "Additions to the interface / Administration": [
        Rule("ADMIN-1", PROSE, "A role does what the table of roles says, and nothing else: `not_allowed`"),
        Rule("ADMIN-2", PROSE, "A form counts only from a page of ours: `form_not_ours`"),
    ],
}
