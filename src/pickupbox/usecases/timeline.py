"""The story of one shipment: how it stands, its attempts, and all that happened to it, in one order of time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pickupbox.database import shipments, timelines, users
from pickupbox.database.connection import Connection
from pickupbox.database.timelines import Moment, Place
from pickupbox.domain.errors import ShipmentNotFound
from pickupbox.domain.shipment import Shipment
from pickupbox.usecases.core import Core

PAGE = 200


@dataclass(frozen=True, slots=True)
class Story:
    """A shipment with its box and door. `before` is where older moments go on, None if these are all."""

    shipment: Shipment
    place: Place
    attempts: tuple[Shipment, ...]
    moments: tuple[Moment, ...]
    before: datetime | None


async def read_stories(core: Core, wanted: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Story]:
    """The stories of these (tenant, shipment); one that the tenant does not have is not among them."""
    stories = {}
    async with core.db.connection() as connection:
        for pair, found in zip(wanted, await shipments.read_many(connection, wanted), strict=True):
            if found is not None:
                stories[pair] = await _story(connection, found[0], None)
    return stories


async def read_story(core: Core, tenant: str, shipment_id: str, until: datetime | None = None) -> Story:
    async with core.db.connection() as connection:
        (found,) = await shipments.read_many(connection, [(tenant, shipment_id)])
        if found is None:
            raise ShipmentNotFound
        return await _story(connection, found[0], until)


async def read_marks(core: Core, wanted: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """A mark for each of these that changes when its story does: cheap to ask for many, again and again."""
    async with core.db.connection() as connection:
        return await timelines.read_marks(connection, wanted)


async def _story(connection: Connection, shipment: Shipment, until: datetime | None) -> Story:
    place = await timelines.read_place(connection, shipment)
    attempts = await shipments.find_order(connection, shipment.tenant_id, shipment.external_order_id)
    moments, before = await timelines.read(connection, shipment, until, PAGE)
    return Story(shipment, place, tuple(attempts), tuple(await _named(connection, shipment.tenant_id, moments)), before)


async def _named(connection: Connection, tenant: str, moments: Sequence[Moment]) -> list[Moment]:
    """With names for people, keys and endpoints, where they are known."""
    actors = sorted({moment.actor for moment in moments if moment.actor})
    endpoints = sorted({moment.place for moment in moments if moment.source == "webhook" and moment.place})
    names = await users.names(connection, tenant, actors) if actors else {}
    names |= await timelines.names_of_keys(connection, tenant, actors) if actors else {}
    urls = await timelines.names_of_endpoints(connection, tenant, endpoints) if endpoints else {}
    return [
        replace(
            moment,
            actor=names.get(moment.actor or "", moment.actor),
            place=urls.get(moment.place or "", moment.place),
        )
        for moment in moments
    ]
