"""Guessing PINs at a keypad does not pay: what a patient guesser can reach, by the throttle's own arithmetic."""

import random
from datetime import UTC, datetime, timedelta

from pickupbox.domain.throttle import FAILURES_A_DAY, Keypad

GUESSES = 1_000_000
LIVE_PINS = 90
BEGIN = datetime(2031, 3, 1, tzinfo=UTC)


def guess_all(rng: random.Random) -> tuple[int, int, int, timedelta]:
    """A guesser who types whenever the keypad lets him, one guess a second; he begins anew with every opening.

    Judged without a compartment, judged with one, doors opened, and how long it took.
    """
    pins = {f"{number:06}" for number in rng.sample(range(1_000_000), LIVE_PINS)}
    of_compartment = dict(enumerate(pins))
    keypad, now = Keypad(BEGIN.date()), BEGIN
    free = named = opened = 0
    for _ in range(GUESSES):
        now += timedelta(seconds=1 + keypad.seconds_closed(now))
        guess = f"{rng.randrange(1_000_000):06}"
        if keypad.needs_compartment(now):
            named += 1
            right = of_compartment[rng.randrange(LIVE_PINS)] == guess
        else:
            free += 1
            right = guess in pins
        opened += right
        keypad = keypad.after_success() if right else keypad.after_failure(now)
    return free, named, opened, now - BEGIN


def test_a_million_guesses_take_years_and_open_next_to_nothing() -> None:
    free, named, opened, took = guess_all(random.Random(1))  # noqa: S311 - the guesser's, not ours
    days = took / timedelta(days=1)
    assert days > 2000
    assert free / days <= FAILURES_A_DAY + 1
    assert named / days < 500
    # 20 guesses a day at 90 PINs, and some 480 at one: a door in more than a year.
    expected = (free * LIVE_PINS + named) / 1_000_000
    assert expected / days < 1 / 365
    assert opened <= expected + 5 * expected**0.5 + 1
