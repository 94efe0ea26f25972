"""What boxes said and nobody took, because it was too much or not to be believed: told to a person now and then."""

import time

from pickupbox.devices.fairness import Allowance
from pickupbox.telemetry import DEVICE_MESSAGES_DROPPED, log


class Dropped:
    def __init__(self) -> None:
        self._told = Allowance(1)
        self._rosters_told = Allowance(1)

    def note(self, device: str, kind: str) -> None:
        DEVICE_MESSAGES_DROPPED.labels(kind).inc()
        if self._told.take(device, time.monotonic()):
            log.warning("device_messages_dropped", device=device, kind=kind)

    def note_roster(self, device: str, version: int) -> None:
        if self._rosters_told.take(device, time.monotonic()):
            log.warning("roster_not_believed", device=device, version=version)
