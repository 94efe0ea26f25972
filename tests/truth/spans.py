"""How long time jumps: as long as the next thing takes, any length from seconds to days, or to a limit."""

from collections.abc import Sequence
from math import log10
from random import Random

DAY = 86_400.0
WITHHELD = 16 * 60.0
PATIENCE = 11.0  # nobody waits longer at the keypad
ROSTER_SECONDS = 2.0  # at most, until the gateway makes the next
SHORT = 45.0  # protection and cooldown are over then
AROUND = (-1800.0, -20.0, -2.0, 2.0, 20.0)  # of a limit


def span(chance: Random, at: float, leases: Sequence[float], dues: Sequence[float], *, apart: bool) -> float:
    """Seconds; whoever stands at the keypad has left before."""
    luck = chance.random()
    if luck < (0.2 if apart else 0.4):
        return SHORT
    if luck < 0.6:
        return float(10 ** chance.uniform(0, log10(3 * DAY)))
    limits = [*leases, *[at + WITHHELD] * 2, *dues, *[due + DAY for due in dues]]
    return chance.choice(limits) + chance.choice(AROUND) - at - PATIENCE
