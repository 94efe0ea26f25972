"""Delivery: claim due lanes in fair turns, post each one's event, settle in batches. Runs in every worker."""

import asyncio
import random
import time
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime

from pickupbox.database import lanes
from pickupbox.database.connection import Database
from pickupbox.database.lanes import Claimed
from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.telemetry import CLAIM_SECONDS, DELIVERY_LAG, IN_FLIGHT, LOOP_LAST, LOOP_RUNS, log
from pickupbox.vault import Sealed, Vault
from pickupbox.webhooks.bodies import body_of
from pickupbox.webhooks.egress import Egress
from pickupbox.webhooks.schedule import judge
from pickupbox.webhooks.settling import Settler
from pickupbox.webhooks.signing import signed_headers
from pickupbox.webhooks.turns import Turns

LOOP = "webhooks"  # in the metrics of the worker's loops
ROUND = 500  # endpoints looked at in one go
POLL_SECONDS = 1.0
GRACE_SECONDS = 5.0  # for what is under way when the worker is told to stop
GATHER_SECONDS = 0.01  # while busy, claims wait this long for places to become free together
AHEAD = 2  # claimed lanes for each place, so that no place is empty while the next are being claimed
KEYS_KEPT = 10_000


class Delivery:
    def __init__(
        self, db: Database, vault: Vault, egress: Egress, *, concurrency: int, schedule: tuple[float, ...]
    ) -> None:
        self._db = db
        self._vault = vault
        self._egress = egress
        self._schedule = schedule
        self._turns = Turns(AHEAD * concurrency)
        self._places = asyncio.Semaphore(concurrency)
        self._after = ""
        self._wake = asyncio.Event()
        self._settler = Settler(db, self._wake.set)
        self._more_is_due = False  # than there was room for
        self._under_way: dict[asyncio.Task[None], Claimed] = {}
        self._keys: dict[tuple[str, bytes], bytes] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until told to stop; then finish what is under way, or give it back."""
        listening = asyncio.create_task(self._listen(stop))
        stopping = asyncio.create_task(self._wake_at(stop))
        try:
            while not stop.is_set():
                self._wake.clear()
                try:
                    rest = await self.claim_round()
                    LOOP_RUNS.labels(LOOP, "ok").inc()
                    LOOP_LAST.labels(LOOP).set(time.time())
                except TemporarilyUnavailable as error:
                    LOOP_RUNS.labels(LOOP, "unavailable").inc()
                    log.warning("delivery_waits_for_database", cause=repr(error.__cause__))
                    rest = POLL_SECONDS
                except Exception as error:  # noqa: BLE001 - one bad round must not end the worker; it is logged
                    LOOP_RUNS.labels(LOOP, "error").inc()
                    log.error("delivery_round_failed", exc_info=error)
                    rest = POLL_SECONDS
                await self._rest(rest)
        finally:
            listening.cancel()
            stopping.cancel()
            await self._finish()

    async def claim_round(self) -> float:
        """Look at the next endpoints in the round and begin what is due; how long there is nothing to do."""
        if self._turns.free() == 0:
            self._more_is_due = True
            return POLL_SECONDS
        started = time.perf_counter()
        async with self._db.connection() as connection:
            turns, self._after = await lanes.turns(connection, self._after, ROUND)
            wishes = self._turns.share(turns)
            claimed = await lanes.claim(connection, wishes) if wishes else []
        CLAIM_SECONDS.observe(time.perf_counter() - started)
        taken = Counter(lane.endpoint_id for lane in claimed)
        emptied = {wish.endpoint_id for wish in wishes if taken[wish.endpoint_id] < wish.room}
        self._more_is_due = any(turn.wait <= 0 and turn.endpoint_id not in emptied for turn in turns)
        for lane in claimed:
            self._begin(lane)
        IN_FLIGHT.set(len(self._under_way))
        if self._after:
            return 0.0
        return min([POLL_SECONDS, *(turn.wait for turn in turns if turn.wait > 0)])

    def _begin(self, lane: Claimed) -> None:
        self._turns.began(lane.endpoint_id)
        task = asyncio.create_task(self._deliver(lane))
        self._under_way[task] = lane
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._under_way[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("delivery_failed", exc_info=error)

    async def _deliver(self, lane: Claimed) -> None:
        accepted = False
        try:
            body = body_of(lane.event_id, lane.event_type, lane.occurred_at, lane.data)
            async with self._places:
                headers = signed_headers(self._signing_keys(lane), lane.event_id, int(time.time()), body)
                answer = await self._egress.post(lane.url, body, headers)
            now = datetime.now(UTC)
            judgement = judge(
                answer.status,
                answer.retry_after,
                lane.attempts + 1,
                schedule=self._schedule,
                now=now,
                chance=random.random(),  # noqa: S311 - it spreads load, it keeps no secret
            )
            accepted = judgement.outcome == "accepted"
        finally:
            self._turns.ended(lane.endpoint_id, accepted=accepted)
            if self._more_is_due:
                self._wake.set()
        if accepted and lane.attempts == 0:
            DELIVERY_LAG.observe(max(0.0, (now - lane.occurred_at).total_seconds()))
        self._settler.add(lane, answer, judgement)

    def _signing_keys(self, lane: Claimed) -> list[bytes]:
        keys = [self._key(lane, Sealed(lane.secret_id, lane.secret_sealed))]
        if lane.before_id is not None and lane.before_sealed is not None:
            keys.append(self._key(lane, Sealed(lane.before_id, lane.before_sealed)))
        return keys

    def _key(self, lane: Claimed, sealed: Sealed) -> bytes:
        known = self._keys.get((lane.endpoint_id, sealed.sealed))
        if known is None:
            if len(self._keys) >= KEYS_KEPT:
                self._keys.clear()
            known = self._vault.open_webhook_key(lane.tenant_id, lane.endpoint_id, sealed)
            self._keys[lane.endpoint_id, sealed.sealed] = known
        return known

    async def _listen(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            with suppress(TemporarilyUnavailable):
                await self._db.listen(self._wake.set, stop)
            await asyncio.sleep(POLL_SECONDS)

    async def _wake_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._wake.set()

    async def _rest(self, seconds: float) -> None:
        if seconds > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
        if self._under_way:
            await asyncio.sleep(GATHER_SECONDS)

    async def _finish(self) -> None:
        if self._under_way:
            await asyncio.wait(list(self._under_way), timeout=GRACE_SECONDS)
        unfinished = dict(self._under_way)
        for task in unfinished:
            task.cancel()
        await asyncio.gather(*unfinished, return_exceptions=True)
        await self._settler.finish()
        if unfinished:
            with suppress(TemporarilyUnavailable):
                async with self._db.connection() as connection:
                    await lanes.give_back(connection, list(unfinished.values()))
