"""What the service makes of what the box did by itself, judged by the cases of decision 0016."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil, floor
from typing import Any

from pickupbox.domain.doors import Purpose
from pickupbox.domain.grants import mark_of
from pickupbox.domain.lifecycle import FACES, CompartmentState, Stage
from tests.truth.days import Day
from tests.truth.truth import Truth

WAIT_FOR_BOX = timedelta(hours=24)
# Heard within 30 s before the deadline counts as in reach; the heartbeat may have been a minute under way.
IN_REACH = timedelta(seconds=30 + 60 + 5)


def judge_rosters(truth: Truth, rows: Sequence[Mapping[str, Any]]) -> None:
    """What the box is granted is what the service holds to: its own times, never a second more."""
    known = {mark_of(row["id"]): row for row in rows}
    for version in sorted(truth.onlooker.rosters.keys() - truth.rosters_judged):
        truth.rosters_judged.add(version)
        for grant in truth.onlooker.rosters[version].values():
            row = known[grant.mark]
            loads = grant.purpose is Purpose.LOAD
            until = row["reservation_expires_at"] if loads else row["pickup_expires_at"]
            assert grant.until.timestamp() == floor(until.timestamp()), f"{row['id']} is granted until another time"
            opens_from = grant.opens_from.timestamp()
            protected = loads or opens_from == 0 or opens_from == ceil(row["pickup_available_at"].timestamp())
            assert protected, f"{row['id']} is granted from another time"


def judge_late_loads(day: Day, released: set[str], held: Mapping[str, str], committed: int) -> None:
    """A load that is reported after its shipment was released: nobody may use the compartment before a person looked.

    If it is the next shipment's already, because the lease had run out, that one is faulted and nothing else.
    """
    for opening in day.truth.swung:
        loaded_alone = opening.alone and opening.purpose is Purpose.LOAD
        if not loaded_alone or opening in day.truth.loads_judged or not day.truth.is_known(opening, committed):
            continue
        day.truth.loads_judged.append(opening)
        assert opening.order is not None
        if opening.order.id not in released:
            continue
        following = held.get(opening.code)
        if following is None:
            assert opening.code in day.out_of_service, f"{opening.code} is offered after a late load"
            day.truth.seen["late load, compartment free"] += 1
        else:
            state = FACES[day.stages[following][0]].compartment_state
            assert state is CompartmentState.AWAITING_REMOVAL, f"{following} goes on after the load of another"
            day.truth.seen["late load, next shipment"] += 1


def judge_deadlines(truth: Truth, rows: Sequence[Mapping[str, Any]]) -> None:
    """A parcel that the box handed over before the deadline does not expire, but for a box away for a day."""
    for row in rows:
        if Stage(row["stage"]) is not Stage.EXPIRED_HELD or row["pickup_expires_at"] is None:
            continue
        deadline: datetime = row["pickup_expires_at"]
        handed_over = [
            opening
            for opening in truth.swung
            if opening.alone
            and opening.purpose is Purpose.PICK_UP
            and opening.order is not None
            and opening.order.id == row["id"]
            and opening.at is not None
            and opening.at < deadline - IN_REACH
        ]
        waited = row["updated_at"] >= deadline + WAIT_FOR_BOX
        assert waited or not handed_over, f"{row['id']} expired, and its customer had collected it in time"
        truth.seen["expired, handed over"] += bool(handed_over)
