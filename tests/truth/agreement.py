"""What must hold after each step, and what box, service and truth must agree on in the end."""

from pickupbox.domain.lifecycle import Stage, Trigger
from pickupbox.usecases.check import check
from pickupbox.usecases.clock import sweep
from tests.truth.days import Day
from tests.truth.street import CODES


async def look(day: Day) -> set[str]:
    """After each step; the compartments that are offered to the next reservation."""
    async with day.core.db.connection() as connection:
        rows = await connection.fetch(
            "SELECT id, stage, due_at FROM shipments WHERE tenant_id = $1 AND box_id = $2", day.tenant, day.box_id
        )
        places = await connection.fetch(
            "SELECT code, in_service, shipment_id FROM compartments WHERE tenant_id = $1 AND box_id = $2",
            day.tenant,
            day.box_id,
        )
        committed = await connection.fetchval("SELECT seq FROM journals WHERE device_id = $1", day.device)
    day.stages = {row["id"]: (Stage(row["stage"]), row["due_at"]) for row in rows}
    free = {row["code"]: row["in_service"] for row in places if row["shipment_id"] is None}
    day.out_of_service = {code for code, in_service in free.items() if not in_service}
    offered = free.keys() - day.out_of_service
    for code in offered:
        known = [thing for thing in day.truth.inside[code] if day.truth.is_known(thing.opening, committed or 0)]
        assert not known, f"{code} is offered, and there lies {known}"
    for code, is_open in day.street.settled_doors().items():
        assert is_open is day.street.doors.is_open(code), f"the box does not know how {code} stands"
    return offered


async def end(day: Day) -> None:
    """After everything was healed and heard."""
    if day.street.breach is not None:
        raise day.street.breach
    await day.street.drain(day.device)
    while await sweep(day.core, 100):
        pass
    offered = await look(day)
    open_doors = {code for code in CODES if day.street.doors.is_open(code)}
    assert not offered & open_doors, "a compartment is offered with its door open"
    async with day.core.db.connection() as connection:
        swings = await connection.fetch(
            "SELECT code, is_open FROM street.swings WHERE box_id = $1 ORDER BY number", day.box_id
        )
        doors = await connection.fetch("SELECT code FROM doors WHERE box_id = $1 AND is_open", day.box_id)
        trails = await connection.fetch("SELECT id, trail FROM shipments WHERE tenant_id = $1", day.tenant)
        journals = await connection.fetch("SELECT seq FROM journals WHERE device_id = $1", day.device)
    assert [tuple(row.values()) for row in swings] == day.truth.swings(), "not every swing is known exactly once"
    assert {row["code"] for row in doors} == open_doors
    assert day.street.box is not None
    assert [row["seq"] for row in journals] == [day.street.box.journal.last] == [len(day.truth.written)]
    for shipment, trail in trails:
        opened, released = trail.count(Trigger.DOOR_OPENED), day.truth.released.count(shipment)
        assert opened <= released, f"{shipment} is told of a door that opened for another"
    unknown = [opening for opening in day.truth.swung if not day.truth.is_known(opening, len(day.truth.written))]
    assert not unknown, "a door that the box opened was never reported"
    assert not [finding for finding in await check(day.core, day.tenant) if finding.breaches]
    async with day.core.db.connection() as connection:  # so that no later history's clock finds them due
        await connection.execute(
            "UPDATE shipments SET due_at = '9999-01-01' WHERE tenant_id = $1 AND due_at IS NOT NULL", day.tenant
        )
