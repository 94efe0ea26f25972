"""What one box may take of what all boxes share, so that one that says too much harms only itself. Pure."""

from collections import OrderedDict

MINUTE = 60.0


def has_room(own: int, of_one: int, waiting: int, of_all: int) -> bool:
    """Whether one more of a box may wait. Who has none has room also when the others have taken everything."""
    if waiting < of_all:
        return own < of_one
    return own == 0 and waiting < 2 * of_all


class Allowance:
    """So many of each box in a minute."""

    def __init__(self, times: int) -> None:
        self._times = times
        self._used: OrderedDict[str, tuple[float, int]] = OrderedDict()  # since when and how often, the oldest first

    def take(self, device: str, now: float) -> bool:
        while self._used and now - next(iter(self._used.values()))[0] >= MINUTE:
            self._used.popitem(last=False)
        since, times = self._used.get(device, (now, 0))
        if times >= self._times:
            return False
        self._used[device] = (since, times + 1)
        return True
