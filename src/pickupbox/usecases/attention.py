"""What needs a hand now."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from pickupbox.database import attention
from pickupbox.database.attention import MOST, Failing, Held, Offline, OpenDoor
from pickupbox.usecases.core import Core

SILENT_SECONDS = 10.0  # so long what fell silent is remembered: to find it, all devices of the tenant are looked at
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Some[Thing]:
    """The first few of what needs a hand, and how many there are; past 100 only that there are more."""

    first: tuple[Thing, ...]
    count: int
    more: bool


@dataclass(frozen=True, slots=True)
class Attention:
    held: Some[Held]
    under_way: int  # of those held, how many somebody has begun to remove
    offline: Some[Offline]
    open_doors: Some[OpenDoor]
    failing: tuple[Failing, ...]

    @property
    def quiet(self) -> bool:
        return not (self.held.count or self.offline.count or self.open_doors.count or self.failing)


class Watch:
    """Looks for many tenants at once, and remembers for some seconds what is dear to find."""

    def __init__(self) -> None:
        self._silent: dict[str, tuple[float, list[Offline]]] = {}

    async def look(self, core: Core, tenants: Sequence[str]) -> dict[str, Attention]:
        tenants = list(dict.fromkeys(tenants))
        now = time.monotonic()
        self._silent = {tenant: known for tenant, known in self._silent.items() if known[0] > now - SILENT_SECONDS}
        unknown = [tenant for tenant in tenants if tenant not in self._silent]
        async with core.db.connection() as connection:
            held = await attention.list_held(connection, tenants)
            offline = await attention.list_offline(connection, tenants)
            open_doors = await attention.list_open_doors(connection, tenants)
            failing = await attention.list_failing(connection, tenants)
            silent = await attention.list_silent(connection, unknown) if unknown else {}
        self._silent |= {tenant: (now, found) for tenant, found in silent.items()}
        return {
            tenant: Attention(
                _some(held[tenant]),
                sum(one.begun for one in held[tenant]),
                _some(sorted([*offline[tenant], *self._silent[tenant][1]], key=lambda one: one.last_seen_at)),
                _some(open_doors[tenant]),
                tuple(failing[tenant]),
            )
            for tenant in tenants
        }


def _some[Thing](found: Sequence[Thing]) -> Some[Thing]:
    return Some(tuple(found[:SHOWN]), min(len(found), MOST), more=len(found) > MOST)
