"""The sandbox lab: try a shipment by hand."""

from pickupbox.database import box_pages
from pickupbox.database.box_pages import Row
from pickupbox.domain.shipment import Shipment
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core
from pickupbox.usecases.reserve import Wish, reserve


async def list_boxes(core: Core, tenant: str, search: str) -> tuple[list[Row], bool]:
    """The first boxes by name that fit and can be reserved in, and whether there may be more."""
    async with core.db.connection() as connection:
        page = await box_pages.list_page(connection, tenant, None, search=search)
    return [box for box in page.rows if box.active], page.next is not None


async def make_shipment(core: Core, person: Caller, box_id: str, external_order_id: str) -> Shipment:
    """Reserve as a shop would; noted, since a person does it. The same order again is the same shipment."""
    made = await reserve(core, person, Wish(box_id, external_order_id))
    if not made.replayed:
        async with core.db.connection() as connection:
            await note(core, connection, person, "shipment.reserve", made.shipment.id)
    return made.shipment
