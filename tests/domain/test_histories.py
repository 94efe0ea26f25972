"""Every way to spoil a legal history is found, under the number of the invariant that it breaks."""

from pickupbox.domain.histories import Told, breaches
from pickupbox.domain.lifecycle import Trigger
from tests.domain.walks import told

PICKED_UP = [Trigger.RESERVE, Trigger.LOAD, Trigger.PROTECTION_ENDED, Trigger.PICK_UP, Trigger.RELEASE]
REMOVED = [Trigger.RESERVE, Trigger.LOAD, Trigger.CANCEL, Trigger.REMOVE]


def found(stage: str, trail: list[Trigger], rows: list[Told], event_count: int | None = None) -> set[int]:
    count = len(rows) if event_count is None else event_count
    return {number for number, _ in breaches(stage, [trigger.value for trigger in trail], count, rows)}


def numbered(rows: list[Told]) -> list[Told]:
    """The rows with a sequence that has no gap, so that only what was spoiled is found."""
    return [(number, *row[1:]) for number, row in enumerate(rows, start=1)]


def test_the_unspoiled_histories_have_no_breach() -> None:
    assert found("collected", PICKED_UP, told(PICKED_UP)) == set()
    assert found("cancelled", REMOVED, told(REMOVED)) == set()


def test_a_stage_that_does_not_follow_from_the_trail_breaks_4() -> None:
    assert 4 in found("cooling", PICKED_UP, told(PICKED_UP))


def test_an_illegal_step_breaks_4_and_stops_the_judgement() -> None:
    trail = [*PICKED_UP, Trigger.CANCEL]
    assert found("cancelled_held", trail, told(PICKED_UP)) == {4}


def test_a_trigger_that_nobody_knows_breaks_4() -> None:
    assert [number for number, _ in breaches("reserved", ["reserve", "teleport"], 1, told([Trigger.RESERVE]))] == [4]


def test_an_empty_trail_breaks_4() -> None:
    assert 4 in found("reserved", [], [])


def test_a_stage_that_nobody_knows_breaks_4_and_is_not_an_error_of_the_check() -> None:
    assert 4 in found("teleported", PICKED_UP, told(PICKED_UP))


def test_a_status_that_leaves_a_final_one_breaks_5() -> None:
    rows = told(REMOVED)
    sequence, step, kind, _, state = rows[-1]
    assert 5 in found("cancelled", REMOVED, [*rows[:-1], (sequence, step, kind, "expired", state)])


def test_a_status_that_becomes_a_final_one_does_not_break_5() -> None:
    rows = told(PICKED_UP)
    assert {row[3] for row in rows} == {"reserved", "loaded", "picked_up"}
    assert 5 not in found("collected", PICKED_UP, rows)


def test_a_dropped_event_breaks_6() -> None:
    rows = told(PICKED_UP)
    assert found("collected", PICKED_UP, numbered([*rows[:1], *rows[2:]])) == {6}


def test_an_event_told_twice_breaks_6() -> None:
    rows = told(PICKED_UP)
    assert 6 in found("collected", PICKED_UP, numbered([rows[0], *rows]))


def test_an_event_of_another_step_breaks_6() -> None:
    rows = told(PICKED_UP)
    sequence, step, *rest = rows[1]
    assert found("collected", PICKED_UP, [rows[0], (sequence, step + 1, *rest), *rows[2:]]) == {6}  # type: ignore[list-item]


def test_a_gap_in_the_sequence_breaks_6() -> None:
    rows = told(PICKED_UP)
    assert found("collected", PICKED_UP, [*rows[:-1], (rows[-1][0] + 1, *rows[-1][1:])]) == {6}


def test_a_count_that_is_not_the_number_of_events_breaks_6() -> None:
    rows = told(PICKED_UP)
    assert found("collected", PICKED_UP, rows, event_count=len(rows) + 1) == {6}


def test_a_release_without_door_available_breaks_8() -> None:
    assert 8 in found("collected", PICKED_UP, told(PICKED_UP)[:-1])


def test_door_available_twice_breaks_8() -> None:
    rows = told(PICKED_UP)
    assert 8 in found("collected", PICKED_UP, numbered([*rows, rows[-1]]))


def test_door_available_without_a_release_breaks_8() -> None:
    rows = told(PICKED_UP[:-1])
    assert 8 in found("cooling", PICKED_UP[:-1], [*rows, (len(rows) + 1, 4, "door_available", "picked_up", "cooldown")])


def test_a_removal_that_does_not_tell_removed_breaks_8() -> None:
    rows = [row for row in told(REMOVED) if row[2] != "removed"]
    assert 8 in found("cancelled", REMOVED, numbered(rows))


def test_removed_after_door_available_breaks_8() -> None:
    *rows, removed, available = told(REMOVED)
    assert 8 in found("cancelled", REMOVED, numbered([*rows, available, removed]))


def test_a_last_event_that_shows_another_state_breaks_14() -> None:
    sequence, step, kind, status, _ = told(PICKED_UP)[-1]
    assert 14 in found("collected", PICKED_UP, [*told(PICKED_UP)[:-1], (sequence, step, kind, status, "cooldown")])


def test_a_shipment_that_told_nothing_breaks_14() -> None:
    assert 14 in found("reserved", [Trigger.RESERVE], [])


def test_a_loaded_shipment_told_as_loaded_during_protection_breaks_14() -> None:
    """The delayed `loaded` must not have been told yet."""
    trail = [Trigger.RESERVE, Trigger.LOAD]
    assert 14 in found("protected", trail, [*told(trail), (2, 2, "loaded", "loaded", "occupied")])
