"""A shop that uses the API: a tenant with a key, boxes, and the seven calls."""

import os
from dataclasses import dataclass, replace
from typing import Any

import httpx
from starlette.types import ASGIApp

from pickupbox.database import reservations, tenants
from pickupbox.domain.identifiers import api_key
from pickupbox.usecases.boxes import add_box, default_setup
from pickupbox.usecases.core import Caller, Core, new_pin
from pickupbox.usecases.tenants import add_tenant

FAST = 1_000_000


def client_of(app: ASGIApp, api_key: str | None = None) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test/v1", headers=headers)


@dataclass(frozen=True, slots=True)
class Shop:
    core: Core
    tenant: str
    key_id: str
    api_key: str
    box_id: str
    http: httpx.AsyncClient

    @property
    def caller(self) -> Caller:
        """Someone of the shop, for acts that are noted."""
        return Caller(self.tenant, "test")

    async def boxes(self) -> httpx.Response:
        return await self.http.get("/boxes")

    async def reserve(self, order: str = "order-1", box_id: str | None = None, **more: Any) -> httpx.Response:
        return await self.http.post(
            "/shipments", json={"box_id": box_id or self.box_id, "external_order_id": order, **more}
        )

    async def read(self, shipment_id: str) -> httpx.Response:
        return await self.http.get(f"/shipments/{shipment_id}")

    async def pin(self, shipment_id: str) -> httpx.Response:
        return await self.http.get(f"/shipments/{shipment_id}/pickup-pin")

    async def cancel(self, shipment_id: str) -> httpx.Response:
        return await self.http.post(f"/shipments/{shipment_id}/cancel")

    async def retry(self, shipment_id: str) -> httpx.Response:
        return await self.http.post(f"/shipments/{shipment_id}/retry")

    async def simulate(self, shipment_id: str, event: str) -> httpx.Response:
        return await self.http.post(f"/sandbox/shipments/{shipment_id}/events", json={"event": event})

    async def reserved(self, order: str = "order-1", *events: str, **more: Any) -> str:
        """The id of a shipment that was reserved and then went through the simulated events."""
        shipment_id: str = (await self.reserve(order, **more)).json()["id"]
        for event in events:
            answer = await self.simulate(shipment_id, event)
            assert answer.status_code == 200, answer.text
        return shipment_id

    async def add_box(self, compartments: int = 12, **settings: Any) -> str:
        setup = replace(default_setup(self.core, "Test box", "Here", "Test street 1"), **settings)
        box_id = await add_box(self.core, self.tenant, setup, compartments)
        assert box_id is not None
        return box_id

    async def events(self, shipment_id: str) -> list[str]:
        """The types of the events that the shipment told, in order."""
        return [type_ for type_, _, _ in await self.told(shipment_id)]

    async def told(self, shipment_id: str) -> list[tuple[str, str, str]]:
        """Type, status and compartment state of the events that the shipment told, in order."""
        async with self.core.db.connection() as connection:
            rows = await connection.fetch(
                """
                SELECT type, data ->> 'status', data ->> 'compartment_state' FROM events
                WHERE tenant_id = $1 AND shipment_id = $2 ORDER BY sequence
                """,
                self.tenant,
                shipment_id,
            )
        return [tuple(row.values()) for row in rows]


async def open_shop(core: Core, app: ASGIApp, *, compartments: int = 12, rate: int = FAST, burst: int = FAST) -> Shop:
    """A new tenant with a key, a rate that no test meets by accident, and one box."""
    tenant = await add_tenant(core, "Test shop")
    async with core.db.connection() as connection:
        await tenants.set_rate(connection, tenant, rate, burst)
    key_id, key = await _put_key(core, tenant)
    shop = Shop(core, tenant, key_id, key, "", client_of(app, key))
    return replace(shop, box_id=await shop.add_box(compartments))


async def _put_key(core: Core, tenant: str) -> tuple[str, str]:
    """A key that nobody issued: a test's audit trail begins with what the test does."""
    word = "live" if core.environment == "production" else "test"
    key_id, key = core.new_id("key"), api_key(word, core.cell, os.urandom(32))
    shown, hmac = f"{key[:-49]}…{key[-4:]}", core.vault.api_key_hmac(key)
    async with core.db.connection() as connection:
        secret_id = core.vault.current.id
        assert await tenants.insert_key(connection, tenant, key_id, "test", shown=shown, secret_id=secret_id, hmac=hmac)
    return key_id, key


def asked(shop: Shop, order: str, box_id: str) -> reservations.Asked:
    """One reservation to make, for a test that asks the database directly."""
    shipment_id, pin = shop.core.new_id("shp"), new_pin()
    return reservations.Asked(
        tenant_id=shop.tenant,
        shipment_id=shipment_id,
        external_order_id=order,
        attempt_number=1,
        retry_of_shipment_id=None,
        box_id=box_id,
        customer_name=None,
        reservation_ttl_minutes=None,
        pickup_ttl_minutes=None,
        pin=shop.core.vault.seal_pin(shop.tenant, shipment_id, pin),
        pin_lookup=shop.core.vault.pin_lookup(box_id, pin),
        pin_lookup_before=None,
    )
