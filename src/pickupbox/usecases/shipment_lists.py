"""Lists of shipments for people to look at."""

from collections.abc import Collection

from pickupbox.database import shipment_lists, shipments
from pickupbox.database.shipment_lists import Listed, Page
from pickupbox.domain.errors import BoxNotFound
from pickupbox.domain.lifecycle import Stage
from pickupbox.usecases.core import Core

PAGE = 50


async def list_shipments(
    core: Core, tenant: str, stages: Collection[Stage], box_id: str | None, before: str | None, limit: int = PAGE
) -> Page:
    """A page of the tenant's shipments at these stages, newest first, older than `before`."""
    if not stages:
        return Page([], None)
    async with core.db.connection() as connection:
        if box_id is None:
            return await shipment_lists.list_page(connection, tenant, stages, before, limit)
        return await shipment_lists.list_page_of_box(connection, tenant, box_id, stages, before, limit)


async def list_order(core: Core, tenant: str, external_order_id: str) -> list[Listed]:
    """The attempts of an order, the newest first."""
    async with core.db.connection() as connection:
        attempts = await shipments.find_order(connection, tenant, external_order_id)
        names = {
            box_id: await shipment_lists.box_name(connection, tenant, box_id)
            for box_id in {attempt.box_id for attempt in attempts}
        }
    return [Listed(attempt, names[attempt.box_id] or "") for attempt in reversed(attempts)]


async def name_of_box(core: Core, tenant: str, box_id: str) -> str:
    async with core.db.connection() as connection:
        name = await shipment_lists.box_name(connection, tenant, box_id)
    if name is None:
        raise BoxNotFound
    return name
