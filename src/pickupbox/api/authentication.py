"""API keys: from the Authorization header to the tenant, remembered in the process for at most 5 seconds."""

import asyncio
import time
from datetime import UTC, datetime

from pickupbox.database import tenants
from pickupbox.database.tenants import KeyHolder
from pickupbox.domain.errors import InvalidApiKey, TemporarilyUnavailable
from pickupbox.domain.identifiers import is_api_key
from pickupbox.telemetry import log
from pickupbox.usecases.core import Core

REMEMBERED_SECONDS = 5.0
REMEMBERED_KEYS = 10_000
USE_WRITTEN_EVERY = 10.0


class Keys:
    """The keys that were seen lately, whom they belong to, and when each was last used."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._remembered: dict[bytes, tuple[float, KeyHolder | None]] = {}
        self._used: dict[tuple[str, str], datetime] = {}

    async def holder(self, authorization: str) -> KeyHolder:
        """Whose key it is; raises InvalidApiKey for every kind of wrong one alike."""
        scheme, _, key = authorization.partition(" ")
        key = key.strip()
        if scheme.lower() != "bearer":
            raise InvalidApiKey
        # Remembered under the HMAC, so that the process holds no key and compares none byte by byte.
        hmacs = self._core.vault.api_key_hmacs(key)
        remembered = self._remembered.get(hmacs[0])
        if remembered is None or remembered[0] < time.monotonic():
            if not is_api_key(key):
                raise InvalidApiKey
            remembered = await self._look_up(hmacs)
        holder = remembered[1]
        if holder is None:
            raise InvalidApiKey
        self._used[holder.tenant_id, holder.key_id] = datetime.now(UTC)
        return holder

    async def _look_up(self, hmacs: tuple[bytes, ...]) -> tuple[float, KeyHolder | None]:
        asked_at = time.monotonic()
        holder = await self._core.db.together(tenants.find_key_holders, hmacs)
        if len(self._remembered) >= REMEMBERED_KEYS:
            self._remembered.clear()
        self._remembered[hmacs[0]] = remembered = (asked_at + REMEMBERED_SECONDS, holder)
        return remembered

    async def write_use(self) -> None:
        """Write down when each key was last used since the last time, in one statement."""
        used, self._used = self._used, {}
        if used:
            async with self._core.db.connection() as connection:
                await tenants.note_key_use(connection, used)

    async def write_use_forever(self) -> None:
        while True:
            await asyncio.sleep(USE_WRITTEN_EVERY)
            try:
                await self.write_use()
            except TemporarilyUnavailable:
                log.warning("key_use_not_written", cure="none needed: last_used_at of some keys is a little old")
