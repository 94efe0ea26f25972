"""What must hold after each step, and what box, service and truth must agree on in the end."""

from pickupbox.domain.lifecycle import Stage, Trigger, is_released
from pickupbox.usecases.check import check
from pickupbox.usecases.clock import sweep
from tests.truth.days import Day
from tests.truth.reconciling import judge_deadlines, judge_late_loads, judge_rosters
from tests.truth.street import CODES

CATCH_UP_ROUNDS = 15  # more than the minute after which a box connects again at the latest


async def look(day: Day) -> set[str]:
    """After each step; the compartments that are offered to the next reservation."""
    async with day.core.db.connection() as connection:
        rows = await connection.fetch(
            """
            SELECT id, stage, due_at, updated_at, reservation_expires_at, pickup_available_at, pickup_expires_at
            FROM shipments WHERE tenant_id = $1 AND box_id = $2
            """,
            day.tenant,
            day.box_id,
        )
        places = await connection.fetch(
            """
            SELECT code, in_service, shipment_id, (SELECT seq FROM journals WHERE device_id = $3) AS committed
            FROM compartments WHERE tenant_id = $1 AND box_id = $2
            """,
            day.tenant,
            day.box_id,
            day.device,
        )
    before, day.stages = day.stages, {row["id"]: (Stage(row["stage"]), row["due_at"]) for row in rows}
    day.ends = {row["id"]: row["pickup_expires_at"] or row["reservation_expires_at"] for row in rows}
    committed = day.committed = places[0]["committed"] or 0
    free = {row["code"]: row["in_service"] for row in places if row["shipment_id"] is None}
    day.out_of_service = {code for code, in_service in free.items() if not in_service}
    offered = free.keys() - day.out_of_service
    for code in offered:
        known = [thing for thing in day.truth.inside[code] if day.truth.is_known(thing.opening, committed)]
        assert not known, f"{code} is offered, and there lies {known}"
    for code, is_open in day.street.settled_doors().items():
        assert is_open is day.street.doors.is_open(code), f"the box does not know how {code} stands"
    held = {row["code"]: row["shipment_id"] for row in places if row["shipment_id"] is not None}
    judge_rosters(day.truth, rows)
    judge_late_loads(day, {one for one, (stage, _) in before.items() if is_released(stage)}, held, committed)
    judge_deadlines(day.truth, rows)
    return offered


async def end(day: Day) -> None:
    """After everything was healed and heard."""
    if day.street.breach is not None:
        raise day.street.breach
    await day.street.drain(day.device)
    await _catch_up(day)
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
    async with day.core.db.connection() as connection:  # so that no later history finds them due
        await connection.execute(
            "UPDATE shipments SET due_at = '9999-01-01' WHERE tenant_id = $1 AND due_at IS NOT NULL", day.tenant
        )
        await connection.execute("DELETE FROM roster_changes WHERE tenant_id = $1", day.tenant)


async def _catch_up(day: Day) -> None:
    """A box that is in reach keeps nobody waiting: no parcel beyond its deadline, no compartment withheld."""
    left: list[str] = []
    for _ in range(CATCH_UP_ROUNDS):
        while await sweep(day.core, 100):
            pass
        async with day.core.db.connection() as connection:
            rows = await connection.fetch(
                """
                SELECT id FROM shipments
                WHERE tenant_id = $1 AND stage = 'ready' AND pickup_expires_at <= now()
                UNION ALL
                SELECT code FROM compartments
                WHERE tenant_id = $1 AND box_id = $2 AND shipment_id IS NULL AND withheld_until > now()
                """,
                day.tenant,
                day.box_id,
            )
        left = [row["id"] for row in rows]
        if not left:
            return
        await day.street.db.move(8)
        await day.street.carry(0)
    raise AssertionError(f"box and service have heard each other, and these wait: {left}")
