"""What an answer means for a delivery, and when it is tried again."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pickupbox.settings import Settings
from pickupbox.vault import new_secret
from pickupbox.webhooks.schedule import LONGEST_PAUSE, Judgement, judge, seconds_of

NOW = datetime(2031, 5, 1, 12, 0, tzinfo=UTC)
SCHEDULE = (0.0, 5.0, 300.0, 1800.0, 7200.0, 18000.0, 36000.0, 50400.0, 72000.0, 86400.0)
CHANCES = st.floats(0, 1)
STATUSES = st.none() | st.integers(100, 599)
REFUSED = STATUSES.filter(lambda status: status is None or not 200 <= status < 300)


def judged(status: int | None, retry_after: str | None = None, attempt: int = 1, chance: float = 0.5) -> Judgement:
    return judge(status, retry_after, attempt, schedule=SCHEDULE, now=NOW, chance=chance)


@given(st.integers(200, 299), st.integers(1, 20), st.none() | st.text(max_size=20), CHANCES)
def test_every_2xx_accepts_whatever_else_is_said(
    status: int, attempt: int, retry_after: str | None, chance: float
) -> None:
    assert judged(status, retry_after, attempt, chance) == Judgement("accepted")


@given(REFUSED, st.integers(1, len(SCHEDULE) - 1), CHANCES)
def test_all_else_fails_and_waits_for_the_schedule_spread_by_a_fifth(
    status: int | None, attempt: int, chance: float
) -> None:
    judgement = judged(status, None, attempt, chance)
    assert (judgement.outcome, judgement.pause) == ("failed", None)
    assert judgement.delay is not None
    assert 0.8 * SCHEDULE[attempt] - 1e-6 <= judgement.delay <= 1.2 * SCHEDULE[attempt] + 1e-6


def test_the_spread_reaches_from_a_fifth_below_to_a_fifth_above() -> None:
    delays = [judged(500, attempt=2, chance=chance).delay for chance in (0.0, 0.5, 1.0)]
    assert delays == pytest.approx([240, 300, 360])


@given(REFUSED, st.integers(len(SCHEDULE), 50), st.none() | st.just("60"), CHANCES)
def test_a_failure_at_the_end_of_the_schedule_is_given_up_and_the_lane_moves_on(
    status: int | None, attempt: int, retry_after: str | None, chance: float
) -> None:
    judgement = judged(status, retry_after, attempt, chance)
    assert (judgement.outcome, judgement.delay) == ("given_up", None)


def test_there_are_as_many_attempts_as_the_schedule_has_entries() -> None:
    settings = Settings(environment="sandbox", secrets=new_secret("k1"))
    assert settings.webhook_delays() == SCHEDULE
    outcomes = [judged(500, attempt=number).outcome for number in range(1, 11)]
    assert outcomes == ["failed"] * 9 + ["given_up"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure(status: int) -> None:
    assert judged(status) == Judgement("failed", 5.0)


@given(STATUSES, st.integers(1, 20))
def test_only_410_says_that_the_endpoint_is_gone(status: int | None, attempt: int) -> None:
    assert judged(status, None, attempt).gone is (status == 410)


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_endpoint_that_says_how_long_pauses_as_a_whole(status: int) -> None:
    assert judged(status, "90") == Judgement("failed", 90.0, pause=90.0)
    assert judged(status).pause is None


@pytest.mark.parametrize("status", [301, 400, 404, 410, 500, 502])
def test_another_answer_that_says_how_long_delays_its_own_lane_alone(status: int) -> None:
    judgement = judged(status, "90")
    assert (judgement.delay, judgement.pause) == (90.0, None)


@given(st.integers(0, 10**6))
def test_retry_after_in_seconds_is_obeyed_between_a_second_and_a_day(seconds: int) -> None:
    assert seconds_of(str(seconds), NOW) == min(max(seconds, 1), LONGEST_PAUSE)


@given(st.integers(-(10**6), 10**6))
def test_retry_after_as_a_date_is_the_time_until_then(seconds: int) -> None:
    said = format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)
    assert seconds_of(said, NOW) == min(max(seconds, 1), LONGEST_PAUSE)


def test_retry_after_as_a_date_of_another_zone_or_of_none_is_read() -> None:
    assert seconds_of("Thu, 01 May 2031 14:01:00 +0200", NOW) == 60
    assert seconds_of("Thu, 01 May 2031 12:01:00 -0000", NOW) == 60
    assert seconds_of("Thu, 01 May 2031 12:01:00", NOW) == 60


@pytest.mark.parametrize("said", [None, "", "soon", "1.5", "12 seconds", "Thu, 99 May 2031 12:00:00 GMT", "\x00"])
def test_a_retry_after_that_cannot_be_read_is_none(said: str | None) -> None:
    assert seconds_of(said, NOW) is None


@given(st.text(max_size=60) | st.from_regex(r"\A[A-Z][a-z]{2}, \d{1,3} [A-Z][a-z]{2} \d{1,6} \d\d:\d\d:\d\d [+-]\d*\Z"))
@example("9" * 400)
@example("9" * 5000)
@example("-" + "9" * 400)
@example("Mon, 01 Jan 0001 00:00:00 +2359")
@example("Mon, 01 Jan 2031 00:00:00 +99999999999999999999")
@example("Mon, 01 Jan 2031 00:00:00 +9999")
def test_whatever_an_endpoint_says_is_bounded_or_none(said: str) -> None:
    seconds = seconds_of(said, NOW)
    assert seconds is None or 1 <= seconds <= LONGEST_PAUSE
