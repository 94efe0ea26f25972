"""What the fleet counts, and how it says it."""

from rich.console import Console

from pickupbox.fleet.figures import Figures, Outcome, Timings
from pickupbox.fleet.table import table_of


def test_a_timing_is_what_that_share_did_not_exceed() -> None:
    timings = Timings()
    assert timings.milliseconds(0.5) is None
    for number in range(1, 101):
        timings.add(number / 1000)
    assert (timings.milliseconds(0.5), timings.milliseconds(0.95)) == (51.0, 96.0)


def test_what_was_meant_to_fail_is_not_wrong() -> None:
    figures = Figures(3, 2.0, begun=5)
    figures.outcomes.update((Outcome.COLLECTED, Outcome.JAMMED, Outcome.CANCELLED, Outcome.BROKEN_OFF))
    assert (figures.went_wrong, figures.under_way) == (False, 1)
    figures.outcomes[Outcome.STUCK] += 1
    assert (figures.went_wrong, figures.under_way) == (True, 0)


def test_the_table_says_what_the_figures_are() -> None:
    figures = Figures(3, 2.0, connected=3, seconds=60, begun=90, door_cycles=170)
    figures.outcomes.update({Outcome.COLLECTED: 81, Outcome.STUCK: 9})
    figures.pin_to_door.add(0.25)
    console = Console(width=100)
    with console.capture() as captured:
        console.print(table_of(figures))
    lines = [line.split() for line in captured.get().splitlines()]
    for line in (
        "3 boxes, 60 s",
        "shipments begun 90 1.5/s of 2/s",
        "collected 81 90.0%",
        "stuck 9 10.0%",
        "door cycles 170",
        "PIN to door p50 250 ms p95 250 ms",
    ):
        assert line.split() in lines
