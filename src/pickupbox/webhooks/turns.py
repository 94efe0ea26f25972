"""Fair turns: how many exchanges each endpoint may have under way. Pure; one of them per worker.

Every endpoint begins with a few at a time. Each acceptance earns it one more, each failure halves it: one that hangs
holds a few places for one timeout, never all of them. What is free is shared out equally.
"""

from collections.abc import Sequence

from pickupbox.database.lanes import Turn, Wish

AT_FIRST = 4
AT_MOST = 64
REMEMBERED = 10_000


class Turns:
    def __init__(self, total: int) -> None:
        self._total = total
        self._under_way: dict[str, int] = {}
        self._window: dict[str, int] = {}
        self._served: dict[str, int] = {}  # when an endpoint last had a turn
        self._turn = 0
        self.busy = 0

    def free(self) -> int:
        return self._total - self.busy

    def share(self, turns: Sequence[Turn]) -> list[Wish]:
        """What to claim: of each endpoint that is due as much as it has room for, and no more than its share."""
        due = [turn for turn in turns if turn.wait <= 0]
        due.sort(key=lambda turn: self._served.get(turn.endpoint_id, 0))
        wishes = []
        left = self.free()
        for place, turn in enumerate(due):
            # Rounded up, so that each gets one as long as there is any.
            share = -(-left // (len(due) - place))
            room = min(share, self._room(turn))
            if room > 0:
                wishes.append(Wish(turn.endpoint_id, room, probe=turn.resume_in is not None))
                left -= room
                self._turn += 1
                self._served[turn.endpoint_id] = self._turn
        if len(self._served) > REMEMBERED:
            self._served.clear()
        return wishes

    def _room(self, turn: Turn) -> int:
        under_way = self._under_way.get(turn.endpoint_id, 0)
        if turn.resume_in is not None:
            return 0 if under_way else 1
        return self._window.get(turn.endpoint_id, AT_FIRST) - under_way

    def began(self, endpoint_id: str) -> None:
        self.busy += 1
        self._under_way[endpoint_id] = self._under_way.get(endpoint_id, 0) + 1

    def ended(self, endpoint_id: str, *, accepted: bool) -> None:
        self.busy -= 1
        left = self._under_way[endpoint_id] - 1
        if left:
            self._under_way[endpoint_id] = left
        else:
            del self._under_way[endpoint_id]
        window = self._window.get(endpoint_id, AT_FIRST)
        self._window[endpoint_id] = min(AT_MOST, window + 1) if accepted else max(1, window // 2)
        if len(self._window) > REMEMBERED:
            self._window = {known: self._window.get(known, AT_FIRST) for known in self._under_way}
