"""The keypad's throttle: when it closes, for how long, and what a right PIN changes."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from pickupbox.domain.throttle import CLOSED_LONGEST, FAILURES, FAILURES_A_DAY, Keypad

MORNING = datetime(2031, 3, 1, 8, tzinfo=UTC)
NEW = Keypad(MORNING.date())
GUESSES = st.lists(st.tuples(st.booleans(), st.integers(0, 3600)), max_size=60)


def fail(keypad: Keypad, now: datetime, times: int) -> Keypad:
    for _ in range(times):
        keypad = keypad.after_failure(now)
    return keypad


def closings(count: int) -> list[int]:
    """For how many seconds the keypad is closed each time, guessing on as soon as it is open."""
    keypad, now, closed = NEW, MORNING, []
    for _ in range(count):
        keypad = fail(keypad, now, FAILURES)
        closed.append(keypad.seconds_closed(now))
        now += timedelta(seconds=closed[-1])
        assert keypad.seconds_closed(now) == 0
    return closed


def test_four_failures_leave_it_open_and_the_fifth_closes_it_for_a_minute() -> None:
    four = fail(NEW, MORNING, 4)
    assert four.seconds_closed(MORNING) == 0
    closed = four.after_failure(MORNING)
    assert closed.seconds_closed(MORNING) == 60
    assert closed.seconds_closed(MORNING + timedelta(seconds=59.9)) == 1
    assert closed.seconds_closed(MORNING + timedelta(seconds=60)) == 0


def test_each_closing_is_twice_as_long_up_to_a_quarter_of_an_hour() -> None:
    assert closings(7) == [60, 120, 240, 480, 900, 900, 900]


def test_closed_a_thousand_times_it_is_still_a_quarter_of_an_hour() -> None:
    assert closings(1000)[-1] == 900


def test_after_a_closing_it_takes_five_failures_again() -> None:
    later = MORNING + timedelta(seconds=60)
    reopened = fail(NEW, MORNING, 5)
    assert fail(reopened, later, 4).seconds_closed(later) == 0
    assert fail(reopened, later, 5).seconds_closed(later) == 120


def test_a_success_forgets_the_row_but_not_the_day() -> None:
    again = fail(NEW, MORNING, 9).after_success()
    assert (again.failures, again.closings, again.closed_until, again.day_failures) == (0, 0, None, 9)
    assert fail(again, MORNING, 4).seconds_closed(MORNING) == 0
    assert fail(again, MORNING, 5).seconds_closed(MORNING) == 60


def test_after_twenty_failures_in_a_day_the_compartment_is_needed_until_midnight() -> None:
    assert not fail(NEW, MORNING, FAILURES_A_DAY - 1).needs_compartment(MORNING)
    tired = fail(NEW, MORNING, FAILURES_A_DAY)
    assert tired.needs_compartment(MORNING)
    assert tired.after_success().needs_compartment(MORNING)
    midnight = datetime(2031, 3, 2, tzinfo=UTC)
    assert tired.needs_compartment(midnight - timedelta(seconds=1))
    assert not tired.needs_compartment(midnight)


def test_a_new_day_counts_from_the_beginning_but_a_row_of_failures_goes_on() -> None:
    tomorrow = MORNING + timedelta(days=1)
    both = fail(fail(NEW, MORNING, 3), tomorrow, 2)
    assert both.day_failures == 2
    assert both.seconds_closed(tomorrow) == 60


@given(GUESSES)
def test_whatever_is_typed_no_more_than_five_in_a_row_are_judged_between_two_closings(
    guesses: list[tuple[bool, int]],
) -> None:
    keypad, now, in_a_row, of_day = NEW, MORNING, 0, {MORNING.date(): 0}
    for right, pause in guesses:
        now += timedelta(seconds=pause)
        if keypad.seconds_closed(now):
            continue
        assert in_a_row < FAILURES
        if right:
            keypad, in_a_row = keypad.after_success(), 0
        else:
            keypad = keypad.after_failure(now)
            in_a_row = 0 if keypad.seconds_closed(now) else in_a_row + 1
            of_day[now.date()] = of_day.get(now.date(), 0) + 1
        assert keypad.needs_compartment(now) == (of_day.get(now.date(), 0) >= FAILURES_A_DAY)
        assert keypad.seconds_closed(now) <= CLOSED_LONGEST.total_seconds()
