"""Words that stand for what lives at the moment: generated data names them, the request carries the real thing."""

import itertools
from collections import deque
from collections.abc import Sequence
from typing import Any

from schemathesis import Case, HookContext, Response

FRESH_ORDER = "fresh-order"
LINKED_ORDER = "linked-order"  # what the document's own link from a box to a new shipment says
WITH_NUL = "with\x00nul"  # Schemathesis leaves U+0000 out of its own strings where HTTP headers cannot carry it
OPEN_WORDS = tuple(f"open-{number}" for number in range(40))
HELD_WORDS = tuple(f"held-{number}" for number in range(20))
FAULTED_WORDS = tuple(f"faulted-{number}" for number in range(10))


class Words:
    """The shipments that something can still happen to, as the answers so far tell of them."""

    def __init__(self, shipments: Sequence[str], released_faults: Sequence[str]) -> None:
        self._orders = itertools.count()
        self._pools = {words: deque(shipments, maxlen=len(words)) for words in (OPEN_WORDS, HELD_WORDS)}
        self._pools[FAULTED_WORDS] = deque(released_faults, maxlen=len(FAULTED_WORDS))

    def speak(self, _: HookContext, case: Case, __: dict[str, Any]) -> None:
        """Put the real thing in the place of a word, before the request is sent."""
        word = case.path_parameters.get("shipment_id")
        for words, pool in self._pools.items():
            if word in words and pool:
                case.path_parameters["shipment_id"] = pool[words.index(word) % len(pool)]
        if isinstance(case.body, dict) and case.body.get("external_order_id") in (FRESH_ORDER, LINKED_ORDER):
            # Every second one is new; the other repeats it.
            case.body["external_order_id"] += f"-{next(self._orders) // 2}"

    def hear(self, _: HookContext, __: Case, response: Response) -> None:
        """Remember the shipment that an answer shows, for as long as it lives."""
        shipment = response.json() if response.status_code in (200, 201) else {}
        if "compartment_state" not in shipment:
            return
        for words, pool in self._pools.items():
            # The last one stays: an old shipment is better than none.
            if shipment["id"] in pool and (len(pool) > 1 or words == _words_for(shipment)):
                pool.remove(shipment["id"])
        if words := _words_for(shipment):
            self._pools[words].append(shipment["id"])


def _words_for(shipment: dict[str, Any]) -> tuple[str, ...]:
    if shipment["status"] in ("reserved", "loaded"):
        return OPEN_WORDS
    if shipment["compartment_state"] != "available":
        return HELD_WORDS
    return FAULTED_WORDS if shipment["status"] == "fault" else ()
