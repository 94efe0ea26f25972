"""Delivers webhooks."""

import asyncio

from pickupbox.database.connection import Database
from pickupbox.settings import Settings
from pickupbox.usecases.core import Core
from pickupbox.webhooks.delivery import Delivery
from pickupbox.webhooks.egress import Egress


async def run(core: Core, settings: Settings, stop: asyncio.Event) -> None:
    egress = Egress(loopback=core.webhook_loopback)
    # If the last moments before a crash are forgotten, their events are sent again: at least once, as promised.
    db = Database(settings.database_url, size=settings.database_pool, durable=False)
    delivery = Delivery(
        db, core.vault, egress, concurrency=settings.webhook_concurrency, schedule=settings.webhook_delays()
    )
    try:
        await delivery.run(stop)
    finally:
        await egress.close()
        await db.close()
