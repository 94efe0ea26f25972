"""Bad endpoints slow nobody but themselves: `just isolation` in small."""

import statistics

import pytest

from bench.isolation import Size, measure

SMALL = Size(waiting=20_000, healthy=20, rounds=1, seconds=5, per_second=50)


@pytest.mark.slow
def test_a_dead_a_hanging_and_a_dripping_endpoint_hold_up_no_healthy_one() -> None:
    """Everything that the healthy are to be told arrives (or `measure` fails), and soon; claims stay quick."""
    found = measure(SMALL)
    assert max(found.beside) < 1, f"p95 of {found.beside} s beside bad endpoints, {found.alone} s without"
    assert statistics.median(found.claims) < 0.025
