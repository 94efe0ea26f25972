"""The service's clock as the box knows it: never too early, however long answers take."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from pickupbox.box.clock import DRIFT, OUTSTANDING, ROUND_TRIP_SECONDS, ServiceClock

NOON = datetime(2030, 6, 1, 12, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def test_without_an_answer_the_clock_is_not_known() -> None:
    clock = ServiceClock()
    clock.sent("m1", 10.0)
    assert clock.latest(11.0) is None


def test_an_answer_to_something_else_says_nothing() -> None:
    clock = ServiceClock()
    clock.sent("m1", 10.0)
    clock.answered("before the restart", NOON, 11.0)
    assert clock.latest(11.0) is None


def test_an_answer_that_took_too_long_says_nothing() -> None:
    clock = ServiceClock()
    clock.sent("m1", 10.0)
    clock.answered("m1", NOON, 10.0 + ROUND_TRIP_SECONDS + 0.1)
    assert clock.latest(30.0) is None


def test_the_upper_bound_counts_from_when_the_question_left() -> None:
    clock = ServiceClock()
    clock.sent("m1", 10.0)
    clock.answered("m1", NOON, 14.0)
    latest = clock.latest(14.0)
    assert latest is not None
    assert after(4.0) <= latest <= after(4.01)


def test_a_quicker_answer_is_better_and_a_slower_one_is_let_pass() -> None:
    clock = ServiceClock()
    for name, sent, received, at in (
        ("slow", 0.0, 8.0, 4.0),
        ("quick", 10.0, 10.2, 10.1),
        ("slow again", 20.0, 29.0, 22.0),
    ):
        clock.sent(name, sent)
        clock.answered(name, after(at), received)
    latest = clock.latest(30.0)
    assert latest is not None
    assert abs((latest - after(30.1)).total_seconds()) < 0.01


def test_a_service_whose_clock_was_set_is_followed() -> None:
    clock = ServiceClock()
    for name, sent, at, way in (("m1", 0.0, 0.1, 0.5), ("m2", 100.0, 4000.0, 3.0)):
        clock.sent(name, sent)
        clock.answered(name, after(at), sent + way)
    latest = clock.latest(103.0)
    assert latest is not None
    assert latest >= after(4003.0)


def test_what_may_be_answered_is_bounded() -> None:
    clock = ServiceClock()
    for number in range(OUTSTANDING + 1):
        clock.sent(f"m{number}", 10.0)
    clock.answered("m0", NOON, 10.1)
    assert clock.latest(10.1) is None
    clock.answered("m1", NOON, 10.1)
    assert clock.latest(10.1) is not None


TRIPS = st.lists(
    st.tuples(st.floats(0, 50_000), st.floats(0, 15), st.floats(0, 1), st.integers(-9, 9)), min_size=1, max_size=12
)


@given(TRIPS, st.floats(0, 100_000))
def test_the_service_is_never_later_than_the_bound(trips: list[tuple[float, float, float, int]], later: float) -> None:
    """Of a crystal that runs up to nine tenths of the allowed drift wrong, and answers that take any time."""
    clock, tick, truth, rate = ServiceClock(), 50.0, 0.0, 1 + trips[0][3] / 10 * DRIFT
    for number, (pause, way, share, _) in enumerate(trips):
        tick += pause
        truth += pause * rate
        clock.sent(f"m{number}", tick)
        tick += way
        clock.answered(f"m{number}", after(truth + way * share * rate), tick)
        truth += way * rate
    latest = clock.latest(tick + later)
    assert latest is None or latest >= after(truth + later * rate) - timedelta(milliseconds=1)
