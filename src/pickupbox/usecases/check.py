"""Check the invariants on a live database."""

from dataclasses import dataclass

from pickupbox.database import invariants, tenants
from pickupbox.domain.errors import NotFound
from pickupbox.domain.histories import breaches
from pickupbox.usecases.audit_chain import broken_links
from pickupbox.usecases.core import Core

INVARIANTS = {
    1: "At most one live shipment per compartment",
    2: "No two live shipments of one box share a PIN",
    3: "A compartment that may hold something is freed only by pickup and cooldown, or by removal",
    4: "Every stored stage and every step is in the lifecycle table",
    5: "cancelled, expired, fault and picked_up never change to another status",
    6: "Every step has exactly its events; the sequence per shipment has no gap",
    7: "Every event is delivered to each endpoint that subscribed, or waits, or was given up",
    8: "door_available once per release, after removed where something was inside",
    9: "loaded only after protection ended, or just before an early picked_up",
    10: "Attempts of an order are a line; a faulted shipment has at most one retry",
    11: "Timestamps agree with the stage and never run backwards",
    12: "No event shows another shipment's or tenant's data",
    13: "The audit chain verifies",
    14: "Replaying a shipment's events gives its current public state",
}


@dataclass(frozen=True, slots=True)
class Finding:
    number: int
    invariant: str
    breaches: list[str]


async def check(core: Core, tenant: str | None = None) -> list[Finding]:
    """Every invariant with its breaches, of one tenant or of all; NotFound if there is no such tenant."""
    async with core.db.transaction() as tx:
        await invariants.hold_one_snapshot(tx)
        if tenant is not None and not await tenants.is_known(tx, tenant):
            raise NotFound
        found = await invariants.breaches(tx, tenant)
        for history in await invariants.histories(tx, tenant):
            for number, breach in breaches(history.stage, history.trail, history.event_count, history.events):
                found.setdefault(number, []).append(f"{history.example}: {breach}")
    found[13] = [f"audit entry {entry}" for entry in await broken_links(core, tenant)]
    return [Finding(number, text, found.get(number, [])) for number, text in INVARIANTS.items()]
