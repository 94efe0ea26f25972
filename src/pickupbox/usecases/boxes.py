"""Set up boxes."""

from pickupbox.database import boxes
from pickupbox.database.boxes import BoxSetup
from pickupbox.usecases.audit import note
from pickupbox.usecases.core import Caller, Core


def default_setup(core: Core, name: str, location_name: str | None = None, address: str | None = None) -> BoxSetup:
    """A box as it is when nobody chose otherwise; a sandbox does not make people wait."""
    sandbox = core.environment == "sandbox"
    return BoxSetup(
        name=name,
        location_name=location_name,
        address=address,
        reservation_ttl_minutes=1440,
        pickup_ttl_minutes=2880,
        protection_seconds=5 if sandbox else 120,
        cooldown_seconds=5 if sandbox else 300,
        door_open_seconds=180,
    )


def codes(count: int) -> list[str]:
    """Compartment codes, six to a column: A1 … A6, B1 …; a second letter follows Z."""
    columns = [f"{first}{second}" for first in ["", *map(chr, range(65, 91))] for second in map(chr, range(65, 91))]
    return [f"{columns[number // 6]}{number % 6 + 1}" for number in range(count)]


async def add_box(core: Core, tenant: str, setup: BoxSetup, compartments: int) -> str | None:
    """A new box with that many compartments; None if there is no such tenant."""
    box_id = core.new_id("box")
    async with core.db.transaction() as tx:
        made = await boxes.insert(tx, tenant, box_id, setup, codes(compartments))
    return box_id if made else None


async def put_in_service(core: Core, operator: Caller, box_id: str, code: str, *, in_service: bool) -> bool:
    """Offer a compartment again after a person has looked into it, or no longer; False if there is no such one."""
    async with core.db.transaction() as tx:
        changed = await boxes.set_in_service(tx, operator.tenant, box_id, code, in_service=in_service)
        if changed:
            await note(core, tx, operator, f"compartment.{'in' if in_service else 'out_of'}_service: {code}", box_id)
    return changed
