"""Set up boxes."""

from dataclasses import asdict

from pickupbox.database import boxes
from pickupbox.database.boxes import BoxSetup
from pickupbox.domain.box_setup import COMPARTMENTS, LENGTHS, RANGES
from pickupbox.domain.cabinet import ROWS
from pickupbox.domain.errors import BoxNotFound, ValidationFailed
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
    return [f"{columns[number // ROWS]}{number % ROWS + 1}" for number in range(count)]


async def add_box(core: Core, tenant: str, setup: BoxSetup, compartments: int) -> str | None:
    """A new box that no person adds: of a demo, a fleet; None if there is no such tenant."""
    box_id = core.new_id("box")
    async with core.db.transaction() as tx:
        made = await boxes.insert(tx, tenant, box_id, setup, codes(compartments))
    return box_id if made else None


async def set_up_box(core: Core, operator: Caller, setup: BoxSetup, compartments: int) -> str:
    """A new box, by a person."""
    _check(setup)
    _check_range("compartments", compartments, COMPARTMENTS)
    box_id = core.new_id("box")
    async with core.db.transaction() as tx:
        if not await boxes.insert(tx, operator.tenant, box_id, setup, codes(compartments)):
            raise BoxNotFound
        await note(core, tx, operator, f"box.add: {compartments} compartments", box_id)
    return box_id


async def change_setup(core: Core, operator: Caller, box_id: str, setup: BoxSetup) -> list[str]:
    """Set a box up anew, for what begins from now on; which fields changed. The trail says from what to what."""
    _check(setup)
    async with core.db.transaction() as tx:
        before = await boxes.lock_setup(tx, operator.tenant, box_id)
        if before is None:
            raise BoxNotFound
        old, new = asdict(before), asdict(setup)
        changed = [name for name in new if new[name] != old[name]]
        if changed:
            await boxes.save_setup(tx, operator.tenant, box_id, setup)
            said = ", ".join(f"{name} {old[name]} to {new[name]}" for name in changed)
            await note(core, tx, operator, f"box.settings: {said}", box_id)
    core.db.ring()
    return changed


async def offer_box(core: Core, operator: Caller, box_id: str, *, active: bool) -> None:
    """Offer a box to shops, or no longer; what is in it stays and is picked up."""
    async with core.db.transaction() as tx:
        if not await boxes.set_active(tx, operator.tenant, box_id, active=active):
            raise BoxNotFound
        await note(core, tx, operator, "box.activate" if active else "box.deactivate", box_id)
    core.db.ring()


def _check(setup: BoxSetup) -> None:
    """The entrance says it more kindly, field by field; here nothing gets past."""
    values = asdict(setup)
    for name, longest in LENGTHS.items():
        if len(values[name] or "") > longest or values[name] == "":
            raise ValidationFailed(details=[{"loc": [name], "msg": f"1 to {longest} characters", "type": "length"}])
    for name, limits in RANGES.items():
        _check_range(name, values[name], limits)


def _check_range(name: str, value: int, limits: tuple[int, int]) -> None:
    low, high = limits
    if not low <= value <= high:
        raise ValidationFailed(details=[{"loc": [name], "msg": f"from {low} to {high}", "type": "range"}])


async def put_in_service(core: Core, operator: Caller, box_id: str, code: str, *, in_service: bool) -> bool:
    """Offer a compartment again after a person has looked into it, or no longer; False if there is no such one."""
    async with core.db.transaction() as tx:
        changed = await boxes.set_in_service(tx, operator.tenant, box_id, code, in_service=in_service)
        if changed:
            await note(core, tx, operator, f"compartment.{'in' if in_service else 'out_of'}_service: {code}", box_id)
    core.db.ring()
    return changed
