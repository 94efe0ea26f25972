"""The model: what the contract says of one shipment, written again from interface.md and without our lifecycle."""

from dataclasses import dataclass, field

# What the model's boxes are set to, in seconds. Real time that passes beside it is far below the differences.
RESERVATION, PICKUP, PROTECTION, COOLDOWN, DOOR_OPEN = 1440 * 60, 2880 * 60, 1800, 1800, 3600


class RefusedError(Exception):
    """The contract has no such step here."""


@dataclass
class Parcel:
    id: str
    order: str
    box: str
    pin: str
    attempt: int = 1
    retry_of: str | None = None
    status: str = "reserved"
    state: str = "reserved"
    ready: bool = False
    door_open: bool = False
    cooling_by_clock: bool = False
    age: float = 0
    loaded_at: float = 0
    changed_at: float = 0  # when the stage that it is in began
    events: list[tuple[str, str, str]] = field(default_factory=lambda: [("reserved", "reserved", "reserved")])

    @property
    def live(self) -> bool:
        return self.state != "available"

    @property
    def pickup_enabled(self) -> bool:
        return self.status == "loaded" and self.ready

    def _tell(self, *types: str) -> None:
        self.events.extend((type_, self.status, self.state) for type_ in types)

    def _end(self, status: str, *, release: bool) -> None:
        self.status, self.state = status, "available" if release else "awaiting_removal"
        self.ready = self.door_open = False
        self._tell(status, *(["door_available"] if release else []))

    def _need(self, *, condition: bool) -> None:
        if not condition:
            raise RefusedError

    def load(self) -> None:
        self._need(condition=self.status == "reserved")
        self.status, self.state, self.door_open = "loaded", "occupied", False
        self.loaded_at = self.changed_at = self.age

    def open_door(self) -> None:
        self._need(condition=self.status in ("reserved", "loaded") and not self.door_open)
        self.door_open = True
        self.changed_at = self.age

    def close_door(self) -> None:
        self._need(condition=self.door_open)
        if self.status == "reserved":
            self.load()
        elif self.ready:
            self.pick_up(by_clock=True)
        self.door_open = False

    def end_protection(self) -> None:
        self._need(condition=self.status == "loaded" and not self.ready and not self.door_open)
        self.ready = True
        self._tell("loaded")

    def pick_up(self, *, by_clock: bool = False) -> None:
        self._need(condition=self.status == "loaded")
        if not self.ready:
            self._tell("loaded")
        self.status, self.state, self.ready, self.door_open = "picked_up", "cooldown", False, False
        self.cooling_by_clock = by_clock
        self.changed_at = self.age
        self._tell("picked_up")

    def release(self) -> None:
        self._need(condition=self.state == "cooldown")
        self.state = "available"
        self._tell("door_available")

    def cancel(self) -> None:
        if self.status == "cancelled":
            return
        self._need(condition=self.status in ("reserved", "loaded"))
        self._end("cancelled", release=self.status == "reserved" and not self.door_open)

    def expire(self) -> None:
        self._need(condition=self.status in ("reserved", "loaded"))
        self._end("expired", release=self.status == "reserved" and not self.door_open)

    def fault(self) -> None:
        self._need(condition=self.status in ("reserved", "loaded"))
        self._end("fault", release=False)

    def remove(self) -> None:
        self._need(condition=self.state == "awaiting_removal")
        self._tell("removed")
        self.state = "available"
        self._tell("door_available")

    def let_time_pass(self, seconds: float) -> None:
        """Grow older, and do whatever is due by then."""
        self.age += seconds
        while self._act_if_due():
            pass

    def _act_if_due(self) -> bool:
        since_change, since_loaded = self.age - self.changed_at, self.age - self.loaded_at
        if self.status in ("reserved", "loaded") and self.door_open:
            due, act = since_change >= DOOR_OPEN, self.fault
        elif self.status == "reserved":
            due, act = self.age >= RESERVATION, self.expire
        elif self.pickup_enabled:
            due, act = since_loaded >= PICKUP, self.expire
        elif self.status == "loaded":
            due, act = since_loaded >= PROTECTION, self.end_protection
        else:
            due = self.state == "cooldown" and self.cooling_by_clock and since_change >= COOLDOWN
            act = self.release
        if due:
            act()
            self.changed_at = self.age
        return due
