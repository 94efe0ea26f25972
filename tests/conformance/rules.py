"""Every rule of the contract and every open point that was decided, written down once more.

interface.md is not in every checkout, so docs/conformance.md is held against this transcription, and this against
interface.md wherever that lies beside the checkout.
"""

from tests.conformance.decisions import DECISIONS
from tests.conformance.kinds import Rule
from tests.conformance.operations import OPERATIONS
from tests.conformance.resources import RESOURCES

RULES: dict[str, list[Rule]] = RESOURCES | OPERATIONS | DECISIONS

# The interface.md that was transcribed. When it changes: read what changed, correct the rules, then this.
DIGEST = "a1106436c6751e89f0b229a65bd9d810ffe04314aea7edd133ed90434fa56ca9"

# Table rows and numbered rules under each heading.
SHAPE: dict[str, tuple[int, int]] = {
    "What the service does": (0, 6),
    "Resources and their fields": (0, 0),
    "Resources and their fields / Box (`PublicBoxRead`)": (4, 0),
    "Resources and their fields / Shipment (`PublicShipmentRead`)": (16, 0),
    "Resources and their fields / Shipment creation response (`PublicShipmentCreateResponse`)": (0, 0),
    "Resources and their fields / PIN record (`PublicPickupPinRead`)": (2, 0),
    "Resources and their fields / Enumerations": (4, 0),
    "Resources and their fields / Webhook event (`PublicWebhookEvent`)": (16, 0),
    "Resources and their fields / Error envelope": (0, 0),
    "Resources and their fields / Framework validation error (`HTTPValidationError`)": (0, 0),
    "States and transitions": (0, 0),
    "States and transitions / Shipment status": (6, 0),
    "States and transitions / Compartment state": (5, 0),
    "States and transitions / Transitions": (13, 0),
    "States and transitions / Loading protection": (0, 3),
    "States and transitions / Recovery after fault (standard safe flow)": (0, 4),
    "Endpoints": (7, 0),
    "Endpoints / GET /boxes": (0, 0),
    "Endpoints / POST /shipments": (5, 6),
    "Endpoints / GET /shipments/{shipment_id}": (0, 0),
    "Endpoints / GET /shipments/{shipment_id}/pickup-pin": (0, 0),
    "Endpoints / POST /shipments/{shipment_id}/cancel": (0, 4),
    "Endpoints / POST /shipments/{shipment_id}/retry": (0, 4),
    "Endpoints / POST /sandbox/shipments/{shipment_id}/events (sandbox only)": (6, 0),
    "Endpoints / Webhook delivery (made by the service to the shop)": (0, 0),
    "Authentication": (0, 6),
    "Events": (0, 0),
    "Events / Request headers (all required)": (3, 0),
    "Events / Body": (0, 0),
    "Events / Rules": (0, 7),
    "Events / Open points": (0, 4),
    "Errors": (0, 0),
    "Errors / Body": (0, 0),
    "Errors / Status codes": (6, 0),
    "Limits": (7, 0),
    "Versioning": (0, 5),
    "Open points, decided": (24, 0),
}
