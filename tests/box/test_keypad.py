"""The keypad: what is typed, and the throttle over all histories of guesses."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pickupbox.box.keypad import (
    CLEAR,
    DAY_SECONDS,
    ENTER,
    TYPING_SECONDS,
    Entered,
    Throttle,
    Typed,
    from_text,
    opened,
    pressed,
    refused,
    to_text,
    told_closed,
    told_compartment_needed,
)
from pickupbox.domain.throttle import CLOSED_LONGEST, FAILURES_A_DAY


def type_in(keys: str, *, with_compartment: bool = False, pause: float = 0.5) -> list[Entered]:
    typed, now, entries = Typed(), 100.0, []
    for key in keys:
        now += pause
        typed, entered = pressed(typed, key, now, with_compartment=with_compartment)
        entries += [entered] if entered else []
    return entries


def test_six_digits_are_a_pin() -> None:
    assert type_in("123456") == [Entered("123456")]
    assert type_in("12345") == []
    assert type_in("123456654321") == [Entered("123456"), Entered("654321")]


def test_clear_starts_again_and_other_keys_do_nothing() -> None:
    assert type_in(f"999{CLEAR}123456") == [Entered("123456")]
    assert type_in(f"1x2{ENTER}3²456") == [Entered("123456")]


def test_a_pause_while_typing_starts_again() -> None:
    assert type_in("123456", pause=TYPING_SECONDS + 1) == []
    typed, _ = pressed(Typed(), "9", 100.0, with_compartment=False)
    for number, key in enumerate("123456"):
        typed, entered = pressed(typed, key, 100 + TYPING_SECONDS + 1 + number, with_compartment=False)
    assert entered == Entered("123456")


def test_the_compartment_is_typed_before_the_pin_when_it_is_asked_for() -> None:
    assert type_in(f"a1{ENTER}123456", with_compartment=True) == [Entered("123456", "A1")]
    assert type_in("123456", with_compartment=True) == []
    assert type_in(f"{ENTER}12{ENTER}123456", with_compartment=True) == [Entered("123456", "12")]
    assert type_in(f"B2{CLEAR}A1{ENTER}12{CLEAR}A3{ENTER}123456", with_compartment=True) == [Entered("123456", "A3")]


@given(st.text(max_size=60), st.booleans())
def test_whatever_is_typed_an_entry_has_the_form_of_the_wire(keys: str, with_compartment: bool) -> None:
    for entered in type_in(keys, with_compartment=with_compartment):
        assert len(entered.pin) == 6
        assert entered.pin.isascii()
        assert entered.pin.isdigit()
        assert (entered.compartment is not None) == with_compartment
        assert entered.compartment is None or 1 <= len(entered.compartment) <= 16


def fail(throttle: Throttle, times: int, now: float) -> Throttle:
    for _ in range(times):
        throttle = refused(throttle, now)
    return throttle


def test_five_refusals_close_for_a_minute_then_twice_as_long_up_to_a_quarter_of_an_hour() -> None:
    throttle, now, closed = Throttle(), 100.0, []
    for _ in range(7):
        throttle = fail(throttle, 4, now)
        assert throttle.closed_seconds(now) == 0
        throttle = refused(throttle, now)
        closed.append(throttle.closed_seconds(now))
        now += closed[-1]
    assert closed == [60, 120, 240, 480, 900, 900, 900]


def test_a_pin_that_opens_ends_the_row_but_not_the_days_count() -> None:
    throttle = fail(opened(fail(Throttle(), 4, 0.0)), 4, 0.0)
    assert (throttle.closed_seconds(0.0), throttle.day) == (0, 8)


def test_twenty_refusals_in_a_day_ask_for_the_compartment_until_the_day_is_over() -> None:
    assert not fail(Throttle(), FAILURES_A_DAY - 1, 100.0).needs_compartment(100.0)
    throttle = fail(Throttle(), FAILURES_A_DAY, 100.0)
    assert throttle.needs_compartment(100.0)
    assert throttle.needs_compartment(99.0 + DAY_SECONDS)
    assert not throttle.needs_compartment(100.0 + DAY_SECONDS)
    assert fail(throttle, 1, 100.0 + DAY_SECONDS).day == 1


def test_the_service_can_close_it_for_longer_and_never_for_shorter() -> None:
    throttle = told_closed(Throttle(), 300, 100.0)
    assert told_closed(throttle, 10, 100.0).closed_seconds(100.0) == 300
    assert told_compartment_needed(Throttle(), 100.0).needs_compartment(100.0)


@given(st.integers(0, 60), st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 2 * DAY_SECONDS))
def test_a_restart_at_any_moment_never_shortens_anything(
    failures: int, began: float, restart: float, off: float
) -> None:
    """Ticks begin anew with every start, and the time while it was off is not known."""
    before = fail(Throttle(), failures, began)
    moment = began + off
    after = from_text(to_text(before, moment), restart)
    assert abs(after.closed_seconds(restart) - before.closed_seconds(moment)) < 1e-3
    assert replace(after, closed_until=0, day_ends=0) == replace(before, closed_until=0, day_ends=0)
    assert abs((after.day_ends - restart) - max(0, before.day_ends - moment)) < 1e-3


def test_counters_that_cannot_be_read_count_as_none() -> None:
    assert [from_text(text, 5.0).closed_seconds(5.0) for text in (None, "", "x", "[]", '{"a": 1}', '{"row": "x"}')] == [
        0
    ] * 6


@given(st.lists(st.tuples(st.floats(0, 2000), st.booleans()), max_size=300))
def test_no_day_allows_more_guesses_than_the_arithmetic(pauses: list[tuple[float, bool]]) -> None:
    """A guesser types whenever it is open, also across restarts. Closing doubles: 60, 120, 240, 480, then 900 s."""
    throttle, now, guesses, began = Throttle(), 1000.0, 0, 1000.0
    for pause, restarts in pauses:
        now += pause
        if restarts:
            throttle = from_text(to_text(throttle, now), now)
        if not throttle.closed_seconds(now):
            throttle = refused(throttle, now)
            guesses += 1
    closures, spent = guesses // 5, now - began
    waited = sum(
        min(60 * 2**number, CLOSED_LONGEST.total_seconds()) for number in range(max(0, closures - (guesses % 5 == 0)))
    )
    if spent < DAY_SECONDS:
        assert spent + 1 >= waited
