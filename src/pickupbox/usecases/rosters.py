"""Keep every box's roster: for whom it may open by itself while we are out of its reach."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pickupbox.database import rosters
from pickupbox.database.rosters import Live
from pickupbox.domain.doors import GRANTS
from pickupbox.domain.grants import Grant, mark_of, verifier_of
from pickupbox.domain.lifecycle import Stage
from pickupbox.usecases.core import Core

_ALWAYS = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class NewRoster:
    device_id: str
    version: int
    key: bytes
    grants: Sequence[Grant]


async def make_rosters(core: Core, limit: int) -> list[NewRoster]:
    """New rosters for the boxes whose live shipments changed; they are sent after the commit."""
    async with core.db.transaction() as tx:
        made = await rosters.take_changed(tx, limit)
        live = await rosters.list_live(tx, [one.box_id for one in made]) if made else []
    by_box: dict[str, list[Live]] = {}
    for shipment in live:
        by_box.setdefault(shipment.box_id, []).append(shipment)
    return [
        NewRoster(one.device_id, one.version, key, [_grant(core, key, live) for live in by_box.get(one.box_id, [])])
        for one in made
        for key in [core.vault.verifier_key(one.device_id)]
    ]


def _grant(core: Core, key: bytes, live: Live) -> Grant:
    pin = core.vault.open_pin(live.tenant_id, live.id, live.pin)
    ready = live.stage in (Stage.READY, Stage.COLLECTING)
    return Grant(
        compartment=live.compartment_code,
        purpose=GRANTS[live.stage],
        mark=mark_of(live.id),
        opens_from=_ALWAYS if ready or live.pickup_available_at is None else live.pickup_available_at,
        until=live.pickup_expires_at or live.reservation_expires_at,
        verifier=verifier_of(key, pin),
    )
