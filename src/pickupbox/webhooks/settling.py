"""Settling: what became of each delivery, written in batches; while one is being written the next gather."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from pickupbox.database import endpoints, failures, lanes
from pickupbox.database.connection import Connection, Database
from pickupbox.database.failures import Failed
from pickupbox.database.lanes import Claimed, Settled
from pickupbox.domain.errors import TemporarilyUnavailable
from pickupbox.telemetry import ATTEMPTS, BATCH, DISABLED, log
from pickupbox.webhooks.egress import Answer
from pickupbox.webhooks.schedule import BACK_OFF, Judgement

LIMIT = 200
KEPT_ANSWER = 1024

type _Result = tuple[Settled, Judgement]


class Settler:
    """`more` is called when a lane that was settled goes on at once."""

    def __init__(self, db: Database, more: Callable[[], None]) -> None:
        self._db = db
        self._more = more
        self._results: list[_Result] = []
        self._writing: asyncio.Task[None] | None = None

    def add(self, lane: Claimed, answer: Answer, judgement: Judgement) -> None:
        settled = Settled(
            lane,
            judgement.outcome,
            judgement.delay,
            answer.status,
            answer.error,
            int(answer.seconds * 1000),
            answer.body[:KEPT_ANSWER].decode(errors="replace").replace("\0", "") if answer.body else "",
        )
        self._results.append((settled, judgement))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def finish(self) -> None:
        """Until everything is written."""
        if self._writing is not None:
            await self._writing

    async def _write(self) -> None:
        try:
            while self._results:
                batch, self._results = self._results[:LIMIT], self._results[LIMIT:]
                BATCH.labels("settle").observe(len(batch))
                for outcome, count in Counter(judgement.outcome for _, judgement in batch).items():
                    ATTEMPTS.labels(outcome).inc(count)
                try:
                    await self._write_batch(batch)
                except TemporarilyUnavailable as error:
                    # The leases end, and the events are sent again: at least once, never not at all.
                    log.warning("deliveries_not_settled", count=len(batch), cause=repr(error.__cause__))
                except Exception as error:  # noqa: BLE001 - one bad batch must not end all settling; it is logged
                    log.error("delivery_failed", exc_info=error)
        finally:
            self._writing = None

    async def _write_batch(self, batch: Sequence[_Result]) -> None:
        async with self._db.connection() as connection:
            if any(await lanes.settle_many(connection, [settled for settled, _ in batch])):
                self._more()
            accepted = {settled.lane.endpoint_id for settled, judgement in batch if judgement.outcome == "accepted"}
            forgiven = [settled.lane.endpoint_id for settled, _ in batch if settled.lane.failing]
            if forgiven := [endpoint for endpoint in forgiven if endpoint in accepted]:
                await failures.forget(connection, forgiven)
            failed = [(settled.lane, judgement) for settled, judgement in batch if judgement.outcome != "accepted"]
            if blamed := _by_endpoint(failed, but_not=accepted):
                await failures.note(connection, blamed, BACK_OFF)
            for lane, judgement in failed:
                await _report(connection, lane, judgement)


def _by_endpoint(failed: Sequence[tuple[Claimed, Judgement]], *, but_not: set[str]) -> list[Failed]:
    """One row for each endpoint that did nothing but fail, however many of its deliveries failed together."""
    found: dict[str, Failed] = {}
    for lane, judgement in failed:
        known = found.get(lane.endpoint_id, Failed(lane.endpoint_id, 0, None))
        pauses = [pause for pause in (known.pause, judgement.pause) if pause is not None]
        lease = max(known.leased_until or lane.leased_until, lane.leased_until)
        found[lane.endpoint_id] = Failed(lane.endpoint_id, known.times + 1, max(pauses, default=None), lease)
    return [one for one in found.values() if one.endpoint_id not in but_not or one.pause is not None]


async def _report(connection: Connection, lane: Claimed, judgement: Judgement) -> None:
    if judgement.outcome == "given_up":
        log.warning(
            "webhook_given_up",
            tenant=lane.tenant_id,
            endpoint=lane.endpoint_id,
            event_id=lane.event_id,
            cure="mend the endpoint, then: pickupbox webhook replay",
        )
    if judgement.gone and await endpoints.disable(connection, lane.tenant_id, lane.endpoint_id, "it answered 410 Gone"):
        DISABLED.labels("gone").inc()
        log.warning("webhook_endpoint_disabled", tenant=lane.tenant_id, endpoint=lane.endpoint_id, cause="410")
